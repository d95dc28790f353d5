/** Why a stage of a check failed, where no error of the library explains it. */
import { type Answer, adviceOn } from '../cluster-client.ts';

export class StageFailure extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** An API server that cannot answer now says why. */
export function refuseUnavailable({ statusCode, message }: Answer): void {
  if (statusCode !== 429 && (statusCode < 500 || message === undefined)) return;
  const said = message === undefined ? '' : `: ${message}`;
  throw new StageFailure(`the cluster answers with status ${statusCode}${said}`, adviceOn(statusCode));
}
