import { printable } from '../printable.ts';
import type { ErrorCode } from './codes.ts';

/** The longest line of a message, and the longest field of an error, in bytes. */
const maxMessageBytes = 4 * 1024;
export const maxFieldBytes = 1024;

/** Class names that survive a minifier. */
const classNames = new Map<unknown, string>();

/** For each class once: its own `name` may be a minifier's. */
export function setClassName(type: unknown, name: string): void {
  classNames.set(type, name);
}

const brand = Symbol.for('clusterprofile-credentials.error');

/** Base of every error of this package; `instanceof` also knows those of a second copy of the package. */
export abstract class CredentialsError extends Error {
  static {
    setClassName(this, 'CredentialsError');
  }

  /** Stable across releases; compare this, never the message. */
  abstract readonly code: ErrorCode;
  /** True where the same call may succeed later though nobody mends anything. */
  readonly retryable: boolean = false;
  /**
   * Milliseconds for which the same call fails in the same way, where that is known. Errors that are not `retryable` may have
   * it too: a plugin that somebody installs is found after that time.
   */
  readonly retryAfterMs: number | undefined = undefined;

  /**
   * Profiles, servers and plugins have their words in messages, and none may forge a line of a log, or fill one. So a message is
   * one line, and only `moreLines` begin another.
   */
  constructor(message: string, { moreLines = [], ...options }: ErrorOptions & { moreLines?: readonly string[] } = {}) {
    super([message, ...moreLines].map((line) => printable(line, maxMessageBytes)).join('\n'), options);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== 'object' || value === null) return false;
    const brands: unknown = Reflect.get(value, brand);
    return Array.isArray(brands) && brands.includes(classNames.get(this) ?? this.name);
  }

  get [brand](): readonly string[] {
    const names: string[] = [];
    for (
      let type = this.constructor;
      type !== Error && type !== Function.prototype;
      type = Object.getPrototypeOf(type)
    ) {
      names.push(classNames.get(type) ?? type.name);
    }
    return names;
  }
}
