/** Which errors came while a connection was being opened: their codes alone do not say it. */
const failures = new WeakSet<Error>();

export function markConnecting(error: Error): void {
  failures.add(error);
}

export function wasConnecting(error: Error): boolean {
  return failures.has(error);
}
