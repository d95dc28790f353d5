// D of the kubelet's behaviour; test/e2e compares tens of thousands of pairs with its own code.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { matchImage } from '../../src/image-credentials/match-image.ts';
import { anyText } from '../fixtures/any-text.ts';
import { growth } from '../fixtures/cpu-time.ts';
import { fc } from '../fixtures/property.ts';

describe('matchImage', () => {
  for (const [item, pattern, image, expected] of [
    ['D.26: ports are equal', 'gcr.io', 'gcr.io:443', false],
    ['D.26: ports are equal', 'gcr.io:443', 'gcr.io', false],
    ['D.26: ports are equal', 'prefix.*.io/foo', 'prefix.kubernetes.io:1111/foo/bar', false],
    ['D.26: an empty port is none', 'gcr.io:', 'gcr.io', true],
    ['D.26: ports are text', 'gcr.io:0443', 'gcr.io:443', false],
    ['D.26: a port may be large', 'gcr.io:99999', 'gcr.io:99999', true],
    ['D.26: a port is no glob', 'gcr.io:*', 'gcr.io:5000', false],
    ['D.27: a path is a prefix, character by character', 'gcr.io/foo', 'gcr.io/foobar', true],
    ['D.27: a path is a prefix, character by character', 'gcr.io/foo/', 'gcr.io/foo', false],
    ['D.27: a path is a prefix', 'gcr.io/', 'gcr.io', false],
    ['D.27: a path is a prefix', 'gcr.io/', 'gcr.io/x', true],
    ['D.27: without a path everything is meant', 'gcr.io', 'gcr.io/a/b/c', true],
    ['D.27: letters count', 'gcr.io/Foo', 'gcr.io/foo', false],
    ['D.28: a path is no glob', 'gcr.io/*', 'gcr.io/a', false],
    ['D.28: a path is no glob', 'gcr.io/*', 'gcr.io/*a', true],
    ['D.29: percent signs are decoded', 'gcr.io/%61', 'gcr.io/a', true],
    ['D.29: dots are not resolved', 'gcr.io/a', 'gcr.io/b/../a', false],
    ['D.29: queries and fragments are dropped', 'gcr.io/a?b', 'gcr.io/a', true],
    ['D.30: a star is any part of a label', '*.io', 'gcr.io', true],
    ['D.30: a star does not cross a dot', '*.io', 'a.gcr.io', false],
    ['D.30: a star alone', '*', 'localhost', true],
    ['D.30: a star alone', '*', 'gcr.io', false],
    ['D.30: a star may be empty', '*gcr.io', 'gcr.io', true],
    ['D.30: a star may be empty', '*.gcr.io', '.gcr.io', true],
    ['D.30: inside of a label', 'app*.k8s.io', 'app1.k8s.io', true],
    ['D.30: in the middle', 'k8s.*.io', 'k8s.gcr.io', true],
    ['D.30: two stars are one', '**.io', 'gcr.io', true],
    ['D.30: no classes in a host', 'gc[r].io', 'gcr.io', false],
    ['D.31: letters count', 'GCR.io', 'gcr.io', false],
    ['D.31: no punycode', 'b\u00fccher.io', 'xn--bcher-kva.io', false],
    ['D.31: the same letters', 'b\u00fccher.io', 'b\u00fccher.io', true],
    ['D.31: a final dot counts', 'gcr.io.', 'gcr.io', false],
    ['D.31: addresses are text', '127.1', '127.0.0.1', false],
    ['D.32: an IPv6 address with a port', '[::1]:5000', '[::1]:5000/a', true],
    ['D.32 (differs): an IPv6 address without one is itself', '[::1]', '[::1]', true],
    ['D.32 (differs): and no class of characters', '[::1]', '1', false],
    ['D.32 (differs): and no class of characters', '[fd00::a]', 'a/b', false],
    ['D.32 (differs): a star in a zone is a star', '[fe80::1%25*]', '[fe80::1%25eth0]', false],
    ['D.32: without brackets it is none', '::1', '::1', false],
    ['D.33: a scheme is taken for the host', 'https://gcr.io', 'gcr.io', false],
    ['D.33: a user is passed over', 'u:p@gcr.io', 'gcr.io', true],
    ['D.34: a space in the host', 'a b.io', 'a b.io', false],
    ['D.34: a space in the path', 'gcr.io/a b', 'gcr.io/a b', true],
    ['D.34: a bad escape', 'gcr.io/%zz', 'gcr.io/%zz', false],
    ['D.35: no registry is added', 'docker.io/library', 'library/nginx', false],
    ['KEP-2133: the example', '*.dkr.ecr.*.amazonaws.com', '123.dkr.ecr.us-east-1.amazonaws.com/app', true],
  ] as const) {
    test(`${item}: ${pattern} ${expected ? 'is' : 'is not'} for ${image}`, () => {
      assert.equal(matchImage(pattern, image), expected);
    });
  }

  test('takes a time that grows with the length of pattern and image, whatever the stars', () => {
    for (const make of [
      (length: number) => [`${'*a'.repeat(length)}b.io`, `${'a'.repeat(2 * length)}.io`],
      (length: number) => [`*${'a'.repeat(length)}b*.io`, `${'a'.repeat(2 * length)}.io`],
      (length: number) => {
        const half = 'a'.repeat(length / 2);
        return [`*${half}b${half}*.io`, `${'a'.repeat(2 * length)}.io`];
      },
      (length: number) => [`${'*'.repeat(length)}.io`, `${'a'.repeat(length)}.io`],
      (length: number) => [`*${'ab'.repeat(length)}*a*b*c*.io`, `${'ab'.repeat(2 * length)}.io`],
    ]) {
      const match = (length: number) => {
        const [pattern = '', image = ''] = make(length);
        return () => matchImage(pattern, image);
      };
      const ratio = growth(match, { length: 5_000, factor: 8, most: 3 });
      // A square would be 8.
      assert.ok(ratio < 3, `${make(4)}: 8 times the length takes 8 times ${ratio.toFixed(1)} as long`);
    }
  });

  test('a star matches as it does in a regular expression', () => {
    const word = fc.stringMatching(/^[ab*]{0,8}$/);
    fc.assert(
      fc.property(word, fc.stringMatching(/^[ab]{0,12}$/), (glob, text) => {
        const expected = new RegExp(`^${glob.replaceAll('*', '.*')}$`).test(text);
        assert.equal(matchImage(`${glob}.io`, `${text}.io`), expected);
      }),
      { numRuns: 2_000 },
    );
  });

  const label = fc.stringMatching(/^[a-z0-9-]{1,8}$/);
  const host = fc.array(label, { minLength: 1, maxLength: 4 });
  const path = fc.stringMatching(/^(\/[a-z0-9._-]{1,6}){0,3}$/);

  test('an image matches itself, each beginning of its path, and its host with any label as a star', () => {
    fc.assert(
      fc.property(host, path, fc.nat(), fc.nat(), (labels, tail, cut, star) => {
        const image = `${labels.join('.')}${tail}`;
        assert.ok(matchImage(image, image));
        assert.ok(matchImage(`${labels.join('.')}${tail.slice(0, cut % (tail.length + 1))}`, image));
        const globbed = labels.with(star % labels.length, '*').join('.');
        assert.ok(matchImage(globbed, image));
        assert.ok(!matchImage(`*.${globbed}`, image));
        assert.ok(!matchImage(`${globbed}:443`, image));
      }),
    );
  });

  test('takes any text without a throw', () => {
    fc.assert(
      fc.property(anyText(), anyText(), (pattern, image) => {
        assert.equal(typeof matchImage(pattern, image), 'boolean');
      }),
      { numRuns: 2_000 },
    );
  });
});
