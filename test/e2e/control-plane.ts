/** Real etcd and kube-apiserver processes: each control plane has its own authority, tokens and RBAC. */
import { generateKeyPairSync, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { execa } from 'execa';
import { Agent, request } from 'undici';
import {
  type CertificateAuthority,
  createCertificateAuthority,
  type IssuedCertificate,
} from '../../src/testing/index.ts';
import type { Program } from './go-programs.ts';

/** One cluster's API server with its etcd. */
export interface ControlPlane {
  readonly name: string;
  readonly server: string;
  /** Base64 of PEM. */
  readonly certificateAuthorityData: string;
  readonly certificateAuthority: CertificateAuthority;
  /** A member of system:masters. */
  readonly admin: KubeConfig;
  /** Stops the API server and starts it again on the same port; etcd goes on. */
  restart(): Promise<void>;
  /** Stops the API server where it is (SIGSTOP): it keeps its connections and answers nothing, until the function is called. */
  pause(): () => void;
  /** The API server goes on without its database. */
  stopEtcd(): Promise<void>;
  close(): Promise<void>;
}

/** Ports that were given to somebody who may not listen yet. */
const taken = new Set<number>();

/**
 * A port that nobody listens on, from below the range that systems take for outgoing connections: one of those could have it
 * before a program that is told of it has begun to listen. Two test files that run at once take theirs from different
 * thousands.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + (process.pid % 15) * 1_000 + randomInt(1_000);
    if (taken.has(port)) continue;
    taken.add(port);
    const server = createServer();
    const listens = once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.listen(port, '127.0.0.1');
    if (!(await listens)) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/** Starts a control plane, ready to serve. */
export async function startControlPlane(
  folder: string,
  name: string,
  flags: readonly string[] = [],
): Promise<ControlPlane> {
  const data = await mkdtemp(join(tmpdir(), `control-plane-${name}-`));
  const certificateAuthority = createCertificateAuthority(`${name}-ca`);
  const file = async (path: string, content: string) => {
    await writeFile(join(data, path), content, { mode: 0o600 });
    return join(data, path);
  };
  const pair = async (path: string, { certificate, key }: IssuedCertificate) =>
    [await file(`${path}.crt`, certificate), await file(`${path}.key`, key)] as const;
  const [cert, key] = await pair(
    'server',
    certificateAuthority.issue({
      commonName: 'kube-apiserver',
      dnsNames: ['localhost', 'kubernetes', 'kubernetes.default.svc'],
      ipAddresses: ['127.0.0.1'],
    }),
  );
  const ca = await file('ca.crt', certificateAuthority.certificate);
  const signing = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const signingKey = await file('sa.key', signing.privateKey);
  const publicKey = await file('sa.pub', signing.publicKey);
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()];
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  const start = (program: Program, args: readonly string[]) =>
    startProgram(join(folder, program), args, join(data, `${program}.log`));
  const etcd = start('etcd', [
    `--data-dir=${join(data, 'etcd')}`,
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    '--unsafe-no-fsync',
    '--log-level=error',
  ]);
  const startServer = () =>
    start('kube-apiserver', [
      `--etcd-servers=${etcdUrl}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      // From Kubernetes 1.37 on an address of loopback may not be an endpoint.
      '--endpoint-reconciler-type=none',
      `--secure-port=${port}`,
      `--tls-cert-file=${cert}`,
      `--tls-private-key-file=${key}`,
      `--client-ca-file=${ca}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${publicKey}`,
      `--service-account-signing-key-file=${signingKey}`,
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.0.0.0/24',
      '--shutdown-delay-duration=0s',
      '--v=0',
      ...flags,
    ]);
  let server = startServer();
  const url = `https://127.0.0.1:${port}`;
  const certificateAuthorityData = Buffer.from(certificateAuthority.certificate).toString('base64');
  const ready = () => waitUntilReady(url, certificateAuthority.certificate, [etcd, server], data);
  const admin = new KubeConfig();
  const { certificate, key: adminKey } = certificateAuthority.issue({
    commonName: 'admin',
    organizations: ['system:masters'],
    client: true,
  });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  admin.loadFromOptions({
    clusters: [{ name, server: url, caData: certificateAuthorityData }],
    users: [{ name, certData: base64(certificate), keyData: base64(adminKey) }],
    contexts: [{ name, cluster: name, user: name }],
    currentContext: name,
  });
  const stop = async (child: Child) => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 5_000);
    await child;
    clearTimeout(timer);
  };
  const close = async () => {
    await stop(server);
    await stop(etcd);
    await rm(data, { recursive: true, force: true });
  };
  try {
    await ready();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    name,
    server: url,
    certificateAuthorityData,
    certificateAuthority,
    admin,
    restart: async () => {
      await stop(server);
      server = startServer();
      await ready();
    },
    pause: () => {
      const paused = server;
      paused.kill('SIGSTOP');
      return () => paused.kill('SIGCONT');
    },
    stopEtcd: () => stop(etcd),
    close,
  };
}

function startProgram(path: string, args: readonly string[], log: string) {
  return execa(path, args, { reject: false, stdin: 'ignore', stdout: 'ignore', stderr: { file: log } });
}
type Child = ReturnType<typeof startProgram>;

/** An API server is ready when it says so to anybody. Throws with what the programs have logged where one of them ends. */
async function waitUntilReady(url: string, ca: string, children: readonly Child[], data: string): Promise<void> {
  const agent = new Agent({ connect: { ca } });
  const patience = performance.now() + 120_000;
  const run = ({ nodeChildProcess: { exitCode, signalCode } }: Child) => exitCode === null && signalCode === null;
  try {
    while (performance.now() < patience && children.every(run)) {
      const status = await request(`${url}/readyz`, { dispatcher: agent }).then(
        async ({ statusCode, body }) => {
          await body.dump();
          return statusCode;
        },
        () => 0,
      );
      if (status === 200) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const logs = ['etcd', 'kube-apiserver'].map((name) => readFile(join(data, `${name}.log`), 'utf8').catch(() => ''));
    const said = (await Promise.all(logs)).map((log) => log.slice(-2_000)).join('\n');
    throw new Error(`the API server did not become ready:\n${said}`);
  } finally {
    await agent.close();
  }
}
