/** The credential of a plugin, for one distinct plugin input. A PluginCall comes in, Credentials go out. */
import type { CachedCredential } from '../observability/metrics.ts';
import { emit } from '../observability/telemetry.ts';
import type { Credential } from './credential.ts';
import { CredentialSource, type Refresh } from './credential-source.ts';
import { runPlugin } from './plugin.ts';
import type { PluginCall, PluginOptions } from './plugin-call.ts';
import type { RunHistory } from './run-limit.ts';

export interface SourceOptions extends PluginOptions {
  /** The time, in milliseconds since 1970. */
  readonly clock: () => number;
}

/** A credential is in use for this many milliseconds after it was last requested. */
const inUseMs = 900_000;

export class ExecCredentialSource extends CredentialSource {
  protected override readonly supplying = 'the plugin runs';
  readonly #call: PluginCall;
  readonly #options: SourceOptions;
  readonly #history: RunHistory = {};
  #refreshAt = Number.POSITIVE_INFINITY;

  constructor(call: PluginCall, options: SourceOptions) {
    super(`${call.origin}: plugin ${call.exec.command}`, options.clock);
    this.#call = call;
    this.#options = options;
  }

  protected override supply(refresh: Refresh): Promise<Credential> {
    return runPlugin(this.#call, this.#options, { ...refresh, history: this.#history });
  }

  protected override isDue(now: number): boolean {
    return now >= this.#refreshAt;
  }

  protected override taken(credential: Credential, replaced: Credential | undefined, now: number): void {
    const { authorization, keyPair, expiresAt } = credential;
    this.#refreshAt = refreshTime(now, expiresAt);
    const before = replaced?.keyPair;
    emit(this.#options.observer, 'credential', {
      provider: this.#call.provider,
      hasToken: authorization !== undefined,
      hasCertificate: keyPair !== undefined,
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(keyPair ? { certificateEndsAt: keyPair.endsAt } : {}),
      ...(before && before.identity !== keyPair?.identity ? { replacedCertificateStartsAt: before.startsAt } : {}),
    });
  }

  get cached(): CachedCredential {
    const { current, askedAt, now } = this.use;
    // A clock that was set back makes the time unknown.
    const idle = now - askedAt > inUseMs || now < askedAt;
    // Metrics have the expiry of credentials in use. One that has expired is in use if it was asked for since.
    const isUnseen = (end: number) => end <= now && askedAt < end;
    const endInUse = (end: number | undefined) => (idle || (end !== undefined && isUnseen(end)) ? undefined : end);
    return {
      provider: this.#call.provider,
      hasCredential: current !== undefined,
      expiresAt: endInUse(current?.expiresAt),
      certificateEndsAt: endInUse(current?.keyPair?.endsAt),
    };
  }
}

/** After 70 % to 90 % of the lifetime, at random, so that a fleet does not refresh all at once. */
function refreshTime(now: number, expiresAt: number | undefined): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY;
  return now + (expiresAt - now) * (0.7 + 0.2 * Math.random());
}
