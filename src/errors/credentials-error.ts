import { printable } from '../util/printable.ts';
import type { ErrorCode } from './codes.ts';

/** The longest line of a message, and the longest field of an error, in bytes. */
const maxMessageBytes = 4 * 1024;
export const maxFieldBytes = 1024;

/** Class names that survive a minifier. */
const classNames = new Map<unknown, string>();

/** Call once for each class: a minifier may have changed its own `name`. */
export function setClassName(type: unknown, name: string): void {
  classNames.set(type, name);
}

const brand = Symbol.for('clusterprofile-credentials.error');

/** Base of every error of this package. `instanceof` also recognises errors of a second copy of the package. */
export abstract class CredentialsError extends Error {
  static {
    setClassName(this, 'CredentialsError');
  }

  /** Stable across releases; compare this, never the message. `String(error)` and the stack show it: `PluginError [PLUGIN_TIMEOUT]: ...`. */
  readonly code: ErrorCode;
  /** Transient: the same call may succeed later without any change. */
  readonly retryable: boolean = false;
  /**
   * Milliseconds for which the same call fails in the same way, if known. Errors that are not `retryable` may have it too: a plugin
   * that has been installed is found after that time.
   */
  readonly retryAfterMs: number | undefined = undefined;

  /**
   * Messages quote profiles, servers and plugins, which must not forge or flood log lines. So a message is one line, and only
   * `moreLines` add further ones.
   */
  constructor(
    code: ErrorCode,
    message: string,
    { moreLines = [], ...options }: ErrorOptions & { moreLines?: readonly string[] } = {},
  ) {
    super([message, ...moreLines].map((line) => printable(line, maxMessageBytes)).join('\n'), options);
    this.code = code;
    const name = classNames.get(new.target) ?? new.target.name;
    // V8 copies the name into the stack at its first read. Node's own errors show their code there in the same way.
    this.name = `${name} [${code}]`;
    Reflect.get(this, 'stack');
    this.name = name;
  }

  /** In the form of Node's own errors. */
  override toString(): string {
    return `${this.name} [${this.code}]: ${this.message}`;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== 'object' || value === null) return false;
    try {
      const brands: unknown = Reflect.get(value, brand);
      return Array.isArray(brands) && brands.includes(classNames.get(this) ?? this.name);
    } catch {
      // A revoked Proxy, which a caller threw.
      return false;
    }
  }

  get [brand](): readonly string[] {
    const names: string[] = [];
    for (
      let type = this.constructor;
      type !== Error && type !== Function.prototype;
      type = Object.getPrototypeOf(type)
    ) {
      names.push(classNames.get(type) ?? type.name);
    }
    return names;
  }
}
