/** Two ends of a connection inside this process: what is written to one is read from the other. */
import { Duplex } from 'node:stream';

/** Acts as a verified TLS socket for clients that look: the connection to the server behind it has been verified. */
export class PairedSocket extends Duplex {
  readonly encrypted = true;
  readonly authorized = true;
  #other: PairedSocket | undefined;
  /** The other end waits until this one is read. */
  #written: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  static pair(): readonly [client: PairedSocket, server: PairedSocket] {
    const client = new PairedSocket();
    const server = new PairedSocket();
    client.#join(server);
    server.#join(client);
    return [client, server];
  }

  #join(other: PairedSocket): void {
    this.#other = other;
  }

  /** Ends both ends: requests on the other one fail with this error. */
  failOther(error: Error): void {
    this.#other?.destroy(error);
  }

  /** As a socket does, emits `timeout` after so many milliseconds without data; 0 turns it off. */
  setTimeout(ms: number, onTimeout?: () => void): this {
    clearTimeout(this.#timer);
    this.#timer = ms > 0 ? setTimeout(() => this.emit('timeout'), ms).unref() : undefined;
    if (onTimeout && ms > 0) this.once('timeout', onTimeout);
    return this;
  }

  /** These mean something only to a network socket. */
  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  override _read(): void {
    const written = this.#written;
    this.#written = undefined;
    written?.();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#timer?.refresh();
    const other = this.#other;
    if (!other || other.destroyed) return done();
    other.#timer?.refresh();
    if (other.push(chunk)) done();
    else other.#written = done;
  }

  override _final(done: () => void): void {
    this.#other?.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer);
    const other = this.#other;
    // The error is for this end only.
    process.nextTick(() => other?.destroy());
    done(error);
  }
}
