import { redactBeginning } from '../../redaction/redact.ts';

/** What may be shown of a text of a server: so many characters of its beginning. */
export type Shown = (text: string, length: number, options?: { readonly isCut?: boolean }) => string;

/** Reason and message of a `Status` object, as text or parsed, as they may be shown: a server may say back what it was sent. */
export function readStatus(
  status: unknown,
  shown: Shown = (text, length) => redactBeginning(text, length),
): {
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
    ...(typeof reason === 'string' ? { reason: shown(reason, 200) } : {}),
    ...(typeof message === 'string' ? { message: shown(message, 2_000) } : {}),
    ...(typeof code === 'number' ? { code } : {}),
  };
}
