/** Answers of a server that is overloaded, starting or going. */
export const passingStatuses: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);
