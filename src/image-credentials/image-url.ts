/**
 * The host, port and path of an image, or of a pattern of images. They are compared as text, as in the kubelet: `URL` would change
 * case, default ports, dots and addresses, and other images would match. Pure.
 */

export interface ImageUrl {
  /** Dot-separated parts of the host. */
  readonly parts: readonly string[];
  /** Empty if there is none. */
  readonly port: string;
  readonly path: string;
}

/** Reads `host[:port][/path]`. A query or a fragment is ignored. Returns what is wrong with a text that is something else. */
export function parseImageUrl(text: string): ImageUrl | { readonly problem: string } {
  if (!/^[!-$&-~]*$/.test(text)) return { problem: 'has a character that is not allowed in a host or path' };
  const [, host = '', port = '', path = ''] = /^([^/?#]*?)(?::([^:/?#\]]*))?(\/[^?#]*)?(?:[?#].*)?$/.exec(text) ?? [];
  if (!/^(?:[\w.*-]*|\[[\dA-Fa-f:]+\])$/.test(host)) return { problem: 'has an invalid host' };
  if (!/^\d*$/.test(port)) return { problem: 'has a port that is not a number' };
  return { parts: host.split('.'), port, path };
}
