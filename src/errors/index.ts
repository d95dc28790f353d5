/**
 * Every error that this package throws or rejects with, and the check of arguments. Messages name what to fix and contain no secret.
 * A dependency's error is translated where it is caught, and never chained if it could contain one.
 */
export * from './check-argument.ts';
export * from './credentials-error.ts';
export * from './runtime-errors.ts';
