// Wrong arguments from callers without types: each is an error of this package that names the argument.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { Fleet, FleetMetrics, LeaderElection, listProfiles, reflect, watchProfiles } from '../../src/fleet/index.ts';
import {
  ImageCredentialMetrics,
  ImageCredentialProviders,
  matchImage,
  mintTokenFrom,
} from '../../src/image-credentials/index.ts';
import { CredentialMetrics, CredentialProviders, CredentialsError, RestConfig } from '../../src/index.ts';
import { loadExecCredential } from '../../src/plugin/index.ts';
import { startFleet } from '../fixtures/fleet.ts';
import { kubeconfig } from '../fixtures/kubeconfigs.ts';
import { type Row, secret, tryWrong, untyped } from './wrong-arguments.ts';

const command = '/bin/true';
const provider = { name: 'fake', execConfig: { apiVersion: 'client.authentication.k8s.io/v1', command } };
const objects = ['empty object', 'object without prototype'];
const optional = ['undefined', ...objects];

const orNothing = ['object', ...optional];
const texts = ['text', 'empty text'];

type Class = new (...given: never[]) => unknown;
const make = (type: Class, ...given: unknown[]) => Reflect.construct(type, given);
/** Makes one, or calls a function, with the value behind these arguments. */
const making =
  (type: Class, ...before: unknown[]) =>
  (value: unknown) =>
    make(type, ...before, value);
const calling =
  (call: (...given: never[]) => unknown, ...before: unknown[]) =>
  (value: unknown): unknown =>
    Reflect.apply(call, undefined, [...before, value]);

async function rows(t: TestContext): Promise<Readonly<Record<string, Row>>> {
  const { config, providers } = await startFleet(t);
  const text = kubeconfig({ exec: null, user: { token: 't' } });
  const hub = RestConfig.fromKubeConfig({ text });
  t.after(() => hub.close());
  const fleet = new Fleet({ hub, providers });
  t.after(() => fleet.close());
  const fromFlags = untyped(CredentialProviders, 'fromFlags');
  const flag = (name: string) => (value: unknown) => fromFlags({ [`clusterprofile-${name}`]: value });
  const fromKubeConfig = untyped(RestConfig, 'fromKubeConfig');
  const fetch = untyped(config, 'fetch');
  const synced = untyped(fleet, 'synced');
  const lease = { hub, namespace: 'x', name: 'x' };
  const election = new LeaderElection(lease);
  const run = untyped(election, 'run');
  const makeSharded = (value: unknown) => make(Fleet, { hub, providers, sharding: value });
  const option = (name: string) => new RegExp(`options: (?:\\d problems:\\s+)?${name}: must be `);
  const fromConfigFile = untyped(ImageCredentialProviders, 'fromConfigFile');
  return {
    'new CredentialProviders(value)': [making(CredentialProviders), /providers/, ['array']],
    'new CredentialProviders([], value)': [making(CredentialProviders, [provider]), /options/, optional],
    'fromFlags(value)': [fromFlags, /fromFlags: values: must be the values/, ['object', ...objects]],
    'fromFlags({}, value)': [calling(fromFlags, {}), /options/, optional],
    'fromFlags with a value of access-provider': [flag('access-provider'), /access-provider/, ['undefined', 'array']],
    'fromFlags with a value of hardened': [flag('hardened'), /hardened/, ['undefined', 'true']],
    'fromFlags with a value of provider-file': [flag('provider-file'), /provider.file/, ['undefined', 'array']],
    'fromFlags with a value of plugin-timeout': [flag('plugin-timeout'), /plugin-timeout/, ['undefined', 'array']],
    'fromArgs(value)': [untyped(CredentialProviders, 'fromArgs'), /fromArgs: argv: must be a list of texts/, ['array']],
    'fromArgs([], value)': [calling(untyped(CredentialProviders, 'fromArgs'), []), /options/, optional],
    'fromFile(value)': [untyped(CredentialProviders, 'fromFile'), /fromFile: path: must be|provider file hunter2/],
    'providers.resolve(value)': [untyped(providers, 'resolve'), /ClusterProfile/],
    'providers.getConfig(value)': [untyped(providers, 'getConfig'), /ClusterProfile/],
    'providers.onChange(value)': [untyped(providers, 'onChange'), /onChange: listener: must be a func/, ['function']],
    'fromKubeConfig(value)': [fromKubeConfig, /fromKubeConfig/],
    'fromKubeConfig({ path: value })': [(path) => fromKubeConfig({ path }), /fromKubeConfig|kubeconfig .*hunter2/],
    'fromKubeConfig({ paths: value })': [(paths) => fromKubeConfig({ paths }), /fromKubeConfig|paths of kubeconfigs/],
    'fromKubeConfig({ text: value })': [(given) => fromKubeConfig({ text: given }), /kubeconfig|fromKubeConfig/i],
    'fromKubeConfig({ text, directory: value })': [
      (directory) => fromKubeConfig({ text, directory }),
      /directory/,
      ['undefined', ...texts],
    ],
    'fromKubeConfig(source, value)': [calling(fromKubeConfig, { text }), /options/, optional],
    'fromKubeConfig(source, { context: value })': [
      (context) => fromKubeConfig({ text }, { context }),
      /context/,
      ['undefined'],
    ],
    'fromDefault(value)': [untyped(RestConfig, 'fromDefault'), /options|KUBECONFIG/],
    'config.ready(value)': [untyped(config, 'ready'), /config.ready: options: must be an object/, orNothing],
    'config.ready({ signal: value })': [
      (signal) => config.ready({ signal } as object),
      /config.ready: signal: must be an AbortSignal/,
      ['undefined'],
    ],
    'config.fetch(value)': [fetch, /^RequestError \[REQUEST_INVALID\]: ClusterProfile/, texts],
    "config.fetch('/version', { signal: value })": [
      (signal) => fetch('/version', { signal }),
      /signal/i,
      ['undefined', 'null'],
    ],
    'new CredentialMetrics(value)': [making(CredentialMetrics), /CredentialMetrics: (options|registry)/],
    'new CredentialMetrics({ registry: value })': [
      (registry) => make(CredentialMetrics, { registry }),
      /CredentialMetrics: registry: must be a Registry/,
    ],
    'new FleetMetrics(value)': [making(FleetMetrics), /FleetMetrics: (options|registry)/],
    'new ImageCredentialMetrics(value)': [making(ImageCredentialMetrics), /ImageCredentialMetrics: (options|registry)/],
    'new Fleet(value)': [making(Fleet), /options/],
    'fleet.run(value)': [untyped(fleet, 'run'), /fleet.run: options/, orNothing],
    'fleet.run({ signal: value })': [(signal) => fleet.run({ signal } as object), /fleet.run: signal/, ['undefined']],
    'fleet.synced(value)': [synced, /fleet.synced: options/, orNothing],
    'fleet.synced({ signal: value })': [(signal) => synced({ signal }), /fleet.synced: signal/, ['undefined']],
    'fleet.onEngage(value)': [untyped(fleet, 'onEngage'), /fleet.onEngage: handler/, ['function']],
    'fleet.get(value)': [untyped(fleet, 'get'), /fleet.get: name: must be the name|hunter2 is/],
    'fleet.controller(value)': [untyped(fleet, 'controller'), /options/],
    'new Fleet({ sharding: value })': [makeSharded, /options: (?:\d problems:\s+)?sharding[.:]/, ['undefined']],
    'new LeaderElection(value)': [making(LeaderElection), /options/],
    'election.run(value)': [run, /options/],
    'election.run({ onStartedLeading: value })': [
      (onStartedLeading) => run({ onStartedLeading }),
      option('onStartedLeading'),
      ['function'],
    ],
    ...Object.fromEntries(
      ['signal', 'onStoppedLeading', 'onNewLeader'].map((name): [string, Row] => [
        `election.run({ ${name}: value })`,
        [
          (value) => run({ onStartedLeading: () => {}, [name]: value }),
          option(name),
          name === 'signal' ? ['undefined'] : ['undefined', 'function'],
        ],
      ]),
    ),
    'reflect(value, {})': [
      (value) => Reflect.apply(reflect, undefined, [value, { apiVersion: 'v1', kind: 'Pod' }]).next(),
      /reflect: config: must be a RestConfig/,
    ],
    'reflect(config, value)': [(value) => Reflect.apply(reflect, undefined, [hub, value]).next(), /options/],
    'listProfiles(value)': [calling(listProfiles), /listProfiles: hub: must be a RestConfig/],
    'watchProfiles(value)': [calling(watchProfiles), /watchProfiles: hub: must be a RestConfig/],
    'ImageCredentialProviders.fromConfigFile(value)': [
      (value) => fromConfigFile(value, { binDir: '/x' }),
      /fromConfigFile: path: must be|folder of plugins/,
    ],
    'ImageCredentialProviders.fromConfigFile(path, value)': [calling(fromConfigFile, '/none'), /options|binDir/],
    'ImageCredentialProviders.fromFlags(value)': [untyped(ImageCredentialProviders, 'fromFlags'), /fromFlags|flags/],
    'matchImage(value, text)': [(value) => calling(matchImage, value)('x'), /pattern/, texts],
    'matchImage(text, value)': [calling(matchImage, 'x'), /image/, texts],
    'mintTokenFrom(value)': [calling(mintTokenFrom), /config: must be a KubeConfig/],
    'loadExecCredential(value)': [calling(loadExecCredential), /KUBERNETES_EXEC_INFO/],
  };
}

test('a wrong argument is an error of this package that names it, and shows nothing of it', async (t) => {
  const wrong = await tryWrong(await rows(t), (error, names, kind) => {
    if (!(error instanceof CredentialsError)) return 'throws something else';
    if (!names.test(String(error))) return 'does not name it';
    // A path, a name and an image are told as they are.
    return kind !== 'text' && kind !== 'object' && inspect(error).includes(secret) ? 'shows it' : undefined;
  });
  assert.deepEqual(wrong, []);
});

test('a signal of another realm is taken', async (t) => {
  const { config } = await startFleet(t);
  const { signal } = new AbortController();
  const foreign = Object.setPrototypeOf(Object.create(signal), {
    throwIfAborted: () => undefined,
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  });
  await config.ready({ signal: foreign });
  const hub = RestConfig.fromKubeConfig({ text: kubeconfig({ exec: null, user: { token: 't' } }) });
  t.after(() => hub.close());
  const run = untyped(new LeaderElection({ hub, namespace: 'x', name: 'x' }), 'run');
  const alone = /^[^:]+: options: onStartedLeading: [^:]+$/;
  await assert.rejects(async () => run({ signal: foreign, onStartedLeading: 1 }), alone);
});
