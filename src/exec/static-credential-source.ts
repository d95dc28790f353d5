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
import { AnswerFault, Credential, readKeyPair } from './credential.ts';
import { CredentialSource, type Refresh } from './credential-source.ts';

/** Milliseconds until files are read again. Bound service account tokens change once an hour; client-go waits a minute. */
export const rereadMs = 60_000;

export class StaticCredentialSource extends CredentialSource {
  protected override readonly supplying = 'its files are read';
  readonly #user: StaticUser;
  readonly #hasFiles: boolean;
  /** While this lasts, files are not read again. */
  readonly #fresh = new Cooldown();

  constructor(origin: string, user: StaticUser, { clock }: { readonly clock: () => number }) {
    super(origin, clock);
    this.#user = user;
    const { tokenFile, certificate, key } = user;
    this.#hasFiles = [tokenFile && { file: tokenFile }, certificate, key].some((source) => source && 'file' in source);
  }

  override get secrets(): readonly string[] {
    const { password } = this.#user.basic ?? {};
    return password === undefined ? super.secrets : [...super.secrets, password];
  }

  protected override isDue(now: number): boolean {
    return this.#hasFiles && this.#fresh.left(now) === 0;
  }

  protected override taken(_credential: Credential, _before: Credential | undefined, now: number): void {
    this.#fresh.set(now, rereadMs);
  }

  /** An equal credential keeps its identity: after a 401 it is no better than the one before. */
  protected override async supply({ previous }: Refresh): Promise<Credential> {
    const credential = await this.#build(previous);
    return previous && isSame(previous, credential) ? previous : credential;
  }

  async #build(previous: Credential | undefined): Promise<Credential> {
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
    const token = tokenFile === undefined ? this.#user.token : await this.#readToken(tokenFile, previous);
    if (token !== undefined && headerValue(token) === undefined) {
      const what = tokenFile === undefined ? 'token' : 'tokenFile';
      throw this.#invalid(what, 'holds a token that cannot be sent in a header');
    }
    return new Credential(token, keyPair, undefined);
  }

  /** Until the file was read once, the kubeconfig's `token` beside it is used if the file cannot be read. */
  async #readToken(tokenFile: string, previous: Credential | undefined): Promise<string> {
    try {
      const token = (await this.#file(tokenFile, 'tokenFile')).trim();
      if (token === '') throw this.#invalid('tokenFile', `${tokenFile} is empty`);
      return token;
    } catch (error) {
      if (this.#user.token === undefined || previous) throw error;
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
    return new ConfigurationError('KUBECONFIG_INVALID', this.origin, [{ path, message }]);
  }
}

function isSame(a: Credential, b: Credential): boolean {
  return a.authorization === b.authorization && a.keyPair?.identity === b.keyPair?.identity;
}
