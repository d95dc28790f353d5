/**
 * The credential of a kubeconfig user without a plugin: a token, a token file, a user name, a certificate with its key, or nothing.
 * Files are read again every minute, as client-go does, and after a 401.
 */
import { readFile } from 'node:fs/promises';
import { headerValue } from '../access/impersonation.ts';
import type { PemSource, StaticUser } from '../access/kubeconfig-user.ts';
import { ConfigurationError } from '../errors/index.ts';
import { Cooldown } from '../util/backoff.ts';
import { errnoOf } from '../util/guards.ts';
import { AnswerFault, Credential, readKeyPair, secretsWith } from './credential.ts';
import type { Asker, CredentialSource, Rejections, SourceWarning } from './credential-source.ts';
import type { ExecResponse } from './exec-credential.ts';

export interface StaticOptions {
  readonly clock: () => number;
}

/** Milliseconds until files are read again. Bound service account tokens change once an hour; client-go waits a minute. */
export const rereadMs = 60_000;

export class StaticCredentialSource implements CredentialSource {
  readonly #where: string;
  readonly #user: StaticUser;
  readonly #options: StaticOptions;
  readonly #hasFiles: boolean;
  #current: Credential | undefined;
  /** Of the last credentials: a server may still repeat them. */
  #secrets: readonly string[] = [];
  #reading: Promise<Credential> | undefined;
  #warnings: readonly SourceWarning[] = [];
  /** While this lasts, files are not read again. */
  readonly #fresh = new Cooldown();

  /** `where` opens error messages. */
  constructor(where: string, user: StaticUser, options: StaticOptions) {
    this.#where = where;
    this.#user = user;
    this.#options = options;
    const { tokenFile, certificate, key } = user;
    this.#hasFiles = [tokenFile && { file: tokenFile }, certificate, key].some((source) => source && 'file' in source);
  }

  get warnings(): readonly SourceWarning[] {
    return this.#warnings;
  }

  get secrets(): readonly string[] {
    const { password } = this.#user.basic ?? {};
    return password === undefined ? this.#secrets : [...this.#secrets, password];
  }

  get state(): string {
    if (!this.#current) return 'no credential yet';
    const { authorization, keyPair } = this.#current;
    const what = [authorization === undefined ? [] : ['a token or password'], keyPair ? ['a client certificate'] : []];
    return what.flat().join(' and ') || 'needs no credential';
  }

  /** If a file cannot be read, the credential before stays in use, with a warning. */
  get(asker?: Asker): Credential | Promise<Credential> {
    if (this.#current && this.#fresh.left(this.#options.clock()) > 0) return this.#current;
    const reading = this.#readOnce(asker);
    if (!this.#current) return reading;
    // Avoids an unhandled rejection: it has been logged as a warning.
    reading.catch(() => undefined);
    return this.#current;
  }

  /** A file that was replaced after it was read has a better credential. */
  async afterRejection(
    rejected: Credential,
    rejections: Rejections,
    _response?: ExecResponse,
    asker?: Asker,
  ): Promise<Credential | undefined> {
    if (!this.#hasFiles) return undefined;
    if (this.#current && this.#current !== rejected) return this.#current;
    if (!this.#reading) {
      const now = this.#options.clock();
      if (rejections.isCoolingDown(now)) return undefined;
      rejections.add(now);
    }
    try {
      const credential = await this.#readOnce(asker);
      return isSame(credential, rejected) ? undefined : credential;
    } catch (error) {
      asker?.refreshFailed(this.#warning(error, 'the caller gets the 401'));
      return undefined;
    }
  }

  /** The next request reads the files. */
  invalidate(): void {
    this.#current = undefined;
    this.#reading = undefined;
  }

  #readOnce(asker: Asker | undefined): Promise<Credential> {
    if (this.#reading) return this.#reading;
    // What `invalidate()` has overtaken is not used.
    const isCurrent = () => this.#reading === reading;
    const reading: Promise<Credential> = this.#build()
      .then(
        (credential) => (isCurrent() ? this.#take(credential) : credential),
        (error: unknown) => {
          if (!isCurrent() || !this.#current) throw error;
          this.#fresh.set(this.#options.clock(), rereadMs);
          const warning = this.#warning(error, 'the credential that was read before stays in use');
          this.#warnings = [warning];
          asker?.refreshFailed(warning);
          return this.#current;
        },
      )
      .finally(() => {
        if (isCurrent()) this.#reading = undefined;
      });
    this.#reading = reading;
    return reading;
  }

  #take(credential: Credential): Credential {
    this.#fresh.set(this.#options.clock(), this.#hasFiles ? rereadMs : Number.POSITIVE_INFINITY);
    this.#warnings = [];
    // An equal credential keeps its identity, so that a 401 to one counts for the other.
    if (this.#current && isSame(this.#current, credential)) return this.#current;
    this.#secrets = secretsWith(credential, this.#secrets);
    this.#current = credential;
    return credential;
  }

  #warning(error: unknown, consequence: string): SourceWarning {
    const known = error instanceof ConfigurationError;
    const why = known ? error.message : `${this.#where}: unexpected failure`;
    return { kind: 'refresh', ...(known ? { code: error.code } : {}), message: `${why}; ${consequence}` };
  }

  async #build(): Promise<Credential> {
    const { tokenFile, basic, certificate, key } = this.#user;
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
    const token = tokenFile === undefined ? this.#user.token : await this.#readToken(tokenFile);
    if (token !== undefined && headerValue(token) === undefined) {
      const what = tokenFile === undefined ? 'token' : 'tokenFile';
      throw this.#invalid(what, 'holds a token that cannot be sent in a header');
    }
    return new Credential(token, keyPair, undefined);
  }

  /** Until the file was read once, the kubeconfig's `token` beside it is used if the file cannot be read. */
  async #readToken(tokenFile: string): Promise<string> {
    try {
      const token = (await this.#file(tokenFile, 'tokenFile')).trim();
      if (token === '') throw this.#invalid('tokenFile', `${tokenFile} is empty`);
      return token;
    } catch (error) {
      if (this.#user.token === undefined || this.#current) throw error;
      return this.#user.token;
    }
  }

  async #pem(source: PemSource | undefined, field: string): Promise<string | undefined> {
    if (!source) return undefined;
    return 'pem' in source ? source.pem : this.#file(source.file, field);
  }

  async #file(path: string, field: string): Promise<string> {
    try {
      return await readFile(path, 'utf8');
    } catch (error) {
      const code = errnoOf(error);
      throw this.#invalid(field, `${path} cannot be read (${code}): correct the path, or mount the file`);
    }
  }

  #invalid(path: string, message: string): ConfigurationError {
    return new ConfigurationError('KUBECONFIG_INVALID', this.#where, [{ path, message }]);
  }
}

function isSame(a: Credential, b: Credential): boolean {
  return a.authorization === b.authorization && a.keyPair?.identity === b.keyPair?.identity;
}
