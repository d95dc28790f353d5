/**
 * What a kubeconfig's user has beside `exec`: a token, a token file, a user name, a certificate with its key.
 * Takes the place of a CredentialSource, and runs no plugin. Files are read again from time to time, as client-go does it.
 */
import { readFile } from 'node:fs/promises';
import { headerValue } from '../access/header-value.ts';
import type { PemSource, StaticUser } from '../access/kubeconfig-user.ts';
import { ConfigurationError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { Hold } from './backoff.ts';
import type { CredentialSupply } from './credential-source.ts';
import { AnswerFault, Credential, readKeyPair } from './exec-credential.ts';

export interface StaticOptions {
  readonly clock: () => number;
  readonly logger: Logger;
}

/** Milliseconds until files are read again. Bound service account tokens change once an hour; client-go waits a minute. */
const rereadMs = 60_000;

export class StaticCredentials implements CredentialSupply {
  readonly #where: string;
  readonly #user: StaticUser;
  readonly #options: StaticOptions;
  #current: Credential | undefined;
  #reading: Promise<Credential> | undefined;
  /** What was read lasts this long; for good where there are no files. */
  readonly #fresh = new Hold();

  /** `where` opens error messages. */
  constructor(where: string, user: StaticUser, options: StaticOptions) {
    this.#where = where;
    this.#user = user;
    this.#options = options;
  }

  /** The credential; a file that cannot be read keeps the one before it, with a warning. */
  get(): Credential | Promise<Credential> {
    if (this.#current && this.#fresh.left(this.#options.clock()) > 0) return this.#current;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    if (!this.#current) return this.#reading;
    // Nobody waits for it: what it warns of is all there is to say.
    this.#reading.catch(() => undefined);
    return this.#current;
  }

  /** There is no better one: the caller gets the server's 401. */
  async afterRejection(): Promise<undefined> {
    return undefined;
  }

  /** The next request reads the files. */
  invalidate(): void {
    this.#current = undefined;
  }

  async #read(): Promise<Credential> {
    try {
      const credential = await this.#build();
      const files = [this.#user.tokenFile, this.#user.certificate, this.#user.key];
      const changes = files.some((source) => typeof source === 'string' || (source && 'file' in source));
      this.#fresh.set(this.#options.clock(), changes ? rereadMs : Number.POSITIVE_INFINITY);
      this.#current = credential;
      return credential;
    } catch (error) {
      if (!this.#current || !(error instanceof ConfigurationError)) throw error;
      this.#fresh.set(this.#options.clock(), rereadMs);
      this.#options.logger.warn(
        { provider: 'kubeconfig' },
        `${error.message}; the credential that was read before serves on`,
      );
      return this.#current;
    }
  }

  async #build(): Promise<Credential> {
    const { tokenFile, basic, certificate, key } = this.#user;
    // Without a pair there may be a token alone, and the other way round.
    const [certificatePem, keyPem] = await Promise.all([
      this.#pem(certificate, 'client-certificate'),
      this.#pem(key, 'client-key'),
    ]);
    let keyPair: ReturnType<typeof readKeyPair>;
    try {
      keyPair = readKeyPair(certificatePem, keyPem);
    } catch (fault) {
      const reason = fault instanceof AnswerFault ? fault.reason.replace('answered with', 'it has') : 'cannot be read';
      throw this.#invalid('client-certificate', reason);
    }
    if (basic) {
      const userAndPassword = Buffer.from(`${basic.username}:${basic.password}`).toString('base64');
      return new Credential(userAndPassword, keyPair, undefined, 'Basic');
    }
    const token = tokenFile === undefined ? this.#user.token : (await this.#file(tokenFile, 'tokenFile')).trim();
    if (token === '' || (token !== undefined && headerValue(token) === undefined)) {
      const what = tokenFile === undefined ? 'token' : 'tokenFile';
      throw this.#invalid(what, token === '' ? `${tokenFile} is empty` : 'holds a token that cannot stand in a header');
    }
    return new Credential(token, keyPair, undefined);
  }

  async #pem(source: PemSource | undefined, field: string): Promise<string | undefined> {
    if (!source) return undefined;
    return 'pem' in source ? source.pem : this.#file(source.file, field);
  }

  async #file(path: string, field: string): Promise<string> {
    try {
      return await readFile(path, 'utf8');
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
      throw this.#invalid(field, `${path} cannot be read (${code})`);
    }
  }

  #invalid(path: string, message: string): ConfigurationError {
    return new ConfigurationError('KUBECONFIG_INVALID', this.#where, [{ path, message }]);
  }

  toJSON(): string {
    return '[static credentials]';
  }
}
