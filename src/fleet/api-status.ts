/** Reason and message of a `Status` object, as text or parsed. */
export function readStatus(status: unknown): {
  readonly reason?: string;
  readonly message?: string;
  readonly code?: number;
} {
  let value = status;
  if (typeof status === 'string') {
    try {
      value = JSON.parse(status);
    } catch {
      return {};
    }
  }
  if (typeof value !== 'object' || value === null) return {};
  const { reason, message, code } = value as Record<string, unknown>; // each is looked at below
  return {
    ...(typeof reason === 'string' ? { reason: reason.slice(0, 200) } : {}),
    ...(typeof message === 'string' ? { message: message.slice(0, 2_000) } : {}),
    ...(typeof code === 'number' ? { code } : {}),
  };
}
