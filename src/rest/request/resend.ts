/** Sends a request again at once whose connection could not carry it, where `retry-policy.ts` says so. */
import type { Dispatcher } from 'undici';
import { printable } from '../../util/printable.ts';
import { wasNotLookedAt } from '../transport/connection-errors.ts';
import type { Layer, OutgoingRequest, RequestOwner, Send } from './layer.ts';
import { type Controller, Relay } from './relay.ts';
import { requestName } from './request-messages.ts';
import { isResentAtOnce } from './retry-policy.ts';

export const resend: Layer = (owner, next) => (request, handler) => {
  next(request, new ResentRequest(owner, next, request, handler));
};

class ResentRequest extends Relay {
  readonly #owner: RequestOwner;
  readonly #next: Send;
  readonly #request: OutgoingRequest;

  constructor(owner: RequestOwner, next: Send, request: OutgoingRequest, handler: Dispatcher.DispatchHandler) {
    super(handler);
    this.#owner = owner;
    this.#next = next;
    this.#request = request;
  }

  override onResponseError(controller: Controller, error: Error): void {
    const request = this.#request;
    const isOver = !this.isCurrent(controller) || this.answered || this.aborted;
    if (isOver || !request.body.replayable || !isResentAtOnce(request, error)) {
      super.onResponseError(controller, error);
      return;
    }
    this.#owner.log.debug(`${requestName(request.options)} is sent again: ${printable(error.message, 1_024)}`);
    request.sent += 1;
    // A request that no server has looked at has waited for a connection since its first attempt.
    if (!wasNotLookedAt(error)) request.waitsSince = undefined;
    this.#next(request, this);
  }
}
