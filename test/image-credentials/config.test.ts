// A and B of the kubelet's behaviour.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseDuration } from '../../src/access/duration.ts';
import { parseImageConfig } from '../../src/image-credentials/config.ts';
import { ConfigurationError } from '../../src/image-credentials/index.ts';
import { configOf as config, providerOfA as provider, tokenAttributes, v1 } from '../fixtures/image-plugins.ts';
import { thrownBy } from '../fixtures/thrown.ts';

/** A configuration with one provider, which has such fields. */
const having = (fields: object) => config({ ...provider, ...fields });

function parse(content: unknown) {
  return parseImageConfig(typeof content === 'string' ? content : JSON.stringify(content), 'file', new Set());
}

function problemsOf(content: unknown): string {
  const { code, message } = thrownBy(ConfigurationError, () => parse(content));
  assert.equal(code, 'IMAGE_CONFIG_INVALID');
  return message;
}

describe('a configuration (A)', () => {
  for (const apiVersion of ['v1', 'v1beta1', 'v1alpha1']) {
    test(`A.5: is taken in kubelet.config.k8s.io/${apiVersion}, as JSON and YAML`, () => {
      const content = { ...config(provider), apiVersion: `kubelet.config.k8s.io/${apiVersion}` };
      const yaml = `kind: CredentialProviderConfig\napiVersion: kubelet.config.k8s.io/${apiVersion}\nproviders:\n- name: p\n  matchImages: [a.io]\n  defaultCacheDuration: 10m\n  apiVersion: ${v1}\n`;
      for (const [result] of [parse(content), parse(yaml)]) {
        const absent = { args: [], env: [] };
        assert.deepEqual(result, { ...provider, ...absent, defaultCacheDuration: 600_000 });
      }
    });
  }

  const early = { ...having({ tokenAttributes }), apiVersion: 'kubelet.config.k8s.io/v1beta1' };
  const late = { ...config(provider), apiVersion: 'kubelet.config.k8s.io/v2' };
  const noPattern = having({ matchImages: ['a.io', 'a b.io'] });
  for (const [item, content, message] of [
    ['A.5: no kind', { ...config(provider), kind: undefined }, /kind: must be CredentialProviderConfig/],
    ['A.5: another version', late, /apiVersion: must be kubelet/],
    ['A.6: a field in other letters', having({ Args: [] }), /providers\[0\]\.Args: is not a known field/],
    ['A.8: tokenAttributes before v1', early, /tokenAttributes: is known in kubelet.config.k8s.io\/v1 only/],
    ['B.13: no providers', config(), /providers: is empty/],
    ['B.13: null for providers', { ...config(), providers: null }, /providers: is missing/],
    ['B.14: a slash in a name', having({ name: 'a/b' }), /name: must be the name of a file/],
    ['B.14: a space in a name', having({ name: 'a b' }), /name: must be the name of a file/],
    ['B.14: dots for a name', having({ name: '..' }), /name: must be the name of a file/],
    ['B.14: no name', having({ name: undefined }), /name: is missing: it must be the name of the executable/],
    ['B.15: a name twice', config(provider, provider), /providers\[1\]\.name: "p" is the name of another provider too/],
    ['B.16: no version', having({ apiVersion: undefined }), /\[0\]\.apiVersion: is missing: it must be one of/],
    ['B.16: another version', having({ apiVersion: 'v1' }), /apiVersion: must be one of/],
    ['B.17: no patterns', having({ matchImages: [] }), /matchImages: is empty/],
    ['B.17: a pattern that is none', noPattern, /matchImages\[1\]: is no pattern of images: it has a character/],
    ['B.18: no duration', having({ defaultCacheDuration: null }), /Duration: is missing: it must be text such/],
    ['B.18: a negative duration', having({ defaultCacheDuration: '-1m' }), /"-1m" is not a duration/],
    ['A.10: a number for a duration', having({ defaultCacheDuration: 10 }), /defaultCacheDuration: must be text/],
  ] as const) {
    test(`${item} is an error with its place`, () => assert.match(problemsOf(content), message));
  }

  test('B.17: odd patterns that match nothing pass, and B.18: a duration of zero', () => {
    parse(having({ matchImages: ['', 'https://a.io', 'a.io/*', 'a.io?b'], defaultCacheDuration: '0s' }));
  });

  test('all problems are reported at once, with their lines', () => {
    const text = `kind: CredentialProviderConfig\napiVersion: kubelet.config.k8s.io/v1\nproviders:\n- name: a/b\n  matchImages: []\n  apiVersion: x\n- name: '.'\n  matchImages: [a.io]\n  apiVersion: ${v1}\n  defaultCacheDuration: 1d\n`;
    const message = problemsOf(text);
    assert.match(message, /: 6 problems:/);
    assert.match(message, /line 4: providers\[0\]\.name/);
    assert.match(message, /line 10: providers\[1\]\.defaultCacheDuration: "1d" is not a duration/);
  });

  test('unknown fields, wrong types and keys that stand twice are reported together', () => {
    const text = `kind: CredentialProviderConfig\napiVersion: kubelet.config.k8s.io/v1\nproviders:\n- nme: a\n  matchImages: []\n  matchImages: []\n- 7\n- args: x\n`;
    const message = problemsOf(text);
    assert.match(message, /line 4: providers\[0\]\.nme: is not a known field \(did you mean name\?\)/);
    assert.match(message, /line 6: the same key is given twice/);
    assert.match(message, /line 7: providers\[1\]: must be an object/);
    assert.match(message, /line 8: providers\[2\]\.args: must be a list/);
  });

  test('A.7: only the first document of a file counts', () => {
    assert.equal(parse(`${JSON.stringify(config(provider))}\n---\nother: document\n`).length, 1);
  });

  for (const [text, ms] of [
    ['10m', 600_000],
    ['1.5h', 5_400_000],
    ['1h30m', 5_400_000],
    ['.5s', 500],
    ['+5s', 5_000],
    ['1us', 0.001],
    ['1µs', 0.001],
    ['0', 0],
    ['-1s', -1_000],
    ['10', undefined],
    ['1d', undefined],
    ['', undefined],
    ['1e3s', undefined],
    ['.s', undefined],
    ['300000000000h', undefined],
  ] as const) {
    test(`A.10: the duration ${JSON.stringify(text)} is ${ms === undefined ? 'none' : `${ms} ms`}`, () => {
      assert.equal(parseDuration(text), ms);
    });
  }
});

describe('tokenAttributes (B.20)', () => {
  const attributes = {
    serviceAccountTokenAudience: 'registry',
    cacheType: 'Token',
    requireServiceAccount: true,
    requiredServiceAccountAnnotationKeys: ['example.com/Role'],
    optionalServiceAccountAnnotationKeys: ['team'],
  };
  const withAttributes = (more: object, providerMore: object = {}) =>
    having({ ...providerMore, tokenAttributes: { ...attributes, ...more } });

  test('are taken', () => assert.deepEqual(parse(withAttributes({}))[0]?.tokenAttributes, attributes));

  for (const [more, message, providerMore] of [
    [{ serviceAccountTokenAudience: '' }, /serviceAccountTokenAudience: is missing/],
    [{ requireServiceAccount: undefined }, /requireServiceAccount: is missing: it must be true or false/],
    [{ requireServiceAccount: false }, /cannot be combined with requireServiceAccount: false/],
    [{ cacheType: undefined }, /cacheType: is missing: it must be ServiceAccount or Token/],
    [{ cacheType: 'token' }, /cacheType: must be ServiceAccount or Token/],
    [{ requiredServiceAccountAnnotationKeys: ['a/b/c'] }, /Keys\[0\]: is not the key of an annotation/],
    [{ requiredServiceAccountAnnotationKeys: ['a/'] }, /is not the key of an annotation/],
    [{ requiredServiceAccountAnnotationKeys: ['-a'] }, /is not the key of an annotation/],
    [{ optionalServiceAccountAnnotationKeys: ['a', 'a'] }, /optionalServiceAccountAnnotationKeys: has a key twice/],
    [{ optionalServiceAccountAnnotationKeys: ['example.com/Role'] }, /\/Role cannot be both required and optional/],
    [{}, /is supported for credentialprovider.kubelet.k8s.io\/v1 only/, { apiVersion: `${v1}beta1` }],
    [{ cachetype: 'Token' }, /tokenAttributes\.cachetype: .*did you mean cacheType\?/],
  ] as const) {
    test(`are refused with ${JSON.stringify(more)}`, () => {
      assert.match(problemsOf(withAttributes(more, providerMore ?? {})), message);
    });
  }
});
