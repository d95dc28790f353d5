// D of the kubelet's behaviour, by an example each; test/e2e compares tens of thousands of pairs with its own code.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { matchImage } from '../../src/image-credentials/keyring.ts';

describe('matchImage', () => {
  for (const [item, pattern, image, expected] of [
    ['D.26: ports are equal', 'gcr.io', 'gcr.io:443', false],
    ['D.26: an empty port is none', 'gcr.io:', 'gcr.io', true],
    ['D.26: a port is no glob', 'gcr.io:*', 'gcr.io:5000', false],
    ['D.27: a path is a prefix, character by character', 'gcr.io/foo', 'gcr.io/foobar', true],
    ['D.27: without a path everything is meant', 'gcr.io', 'gcr.io/a/b/c', true],
    ['D.27: letters count', 'gcr.io/Foo', 'gcr.io/foo', false],
    ['D.28: a path is no glob', 'gcr.io/*', 'gcr.io/a', false],
    ['D.29: dots are not resolved', 'gcr.io/a', 'gcr.io/b/../a', false],
    ['D.30: a star is any part of a label', '*.io', 'gcr.io', true],
    ['D.30: a star does not cross a dot', '*.io', 'a.gcr.io', false],
    ['D.30: a star alone', '*', 'gcr.io', false],
    ['D.30: a star may be empty', '*gcr.io', 'gcr.io', true],
    ['D.31: letters count', 'GCR.io', 'gcr.io', false],
    ['D.32: an IPv6 address with a port', '[::1]:5000', '[::1]:5000/a', true],
    ['D.32 (differs): an IPv6 address without one is itself', '[::1]', '[::1]', true],
    ['D.32 (differs): and no class of characters', '[::1]', '1', false],
    ['D.33: a scheme is taken for the host', 'https://gcr.io', 'gcr.io', false],
    ['D.34 (differs): a percent sign is for no image', 'gcr.io/%61', 'gcr.io/a', false],
    ['D.35: no registry is added', 'docker.io/library', 'library/nginx', false],
    ['KEP-2133: the example', '*.dkr.ecr.*.amazonaws.com', '123.dkr.ecr.us-east-1.amazonaws.com/app', true],
  ] as const) {
    test(`${item}: ${pattern} ${expected ? 'is' : 'is not'} for ${image}`, () => {
      assert.equal(matchImage(pattern, image), expected);
    });
  }
});
