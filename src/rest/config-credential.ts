import { inspect } from 'node:util';
import type { Credential } from '../exec/credential.ts';

/** A credential for a program with an HTTP client of its own. It prints as `[credential]`, and spreading it copies nothing. */
export class ConfigCredential {
  readonly #credential: Credential;
  /**
   * Says that a server refused this very credential, as a 401 to a request of the config does: it is refreshed, once, unless it has been
   * refreshed already or is in its cooldown. Never rejects; ask the config for its credential afterwards.
   */
  readonly reject: () => Promise<void>;

  /** @internal For `config.credential`. */
  constructor(credential: Credential, reject: () => Promise<void>) {
    this.#credential = credential;
    this.reject = reject;
  }

  /** The bearer token. */
  get token(): string | undefined {
    return this.#credential.token;
  }

  /** The value of an `Authorization` header: with the token, or with the user name and password of a kubeconfig. */
  get authorization(): string | undefined {
    return this.#credential.authorization;
  }

  /** The client certificate and its chain, PEM. */
  get clientCertificateData(): string | undefined {
    return this.#credential.keyPair?.certificate;
  }

  /** The key of the client certificate, PEM. */
  get clientKeyData(): string | undefined {
    return this.#credential.keyPair?.key;
  }

  /** When it expires, as RFC 3339 has it; absent for one that is valid until a server refuses it. */
  get expirationTimestamp(): string | undefined {
    const { expiresAt } = this.#credential;
    return expiresAt === undefined ? undefined : new Date(expiresAt).toISOString();
  }

  toJSON(): string {
    return '[credential]';
  }

  [inspect.custom](): string {
    return '[credential]';
  }
}
