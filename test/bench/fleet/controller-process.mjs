// A controller of ConfigMaps, ours or a floor of plain node:https and JSON.parse. It is JavaScript, and uses what is built, as a user's
// program does. It says and answers what test/e2e/controllers/run.go does.
import { createInterface } from 'node:readline';

const { floor, hub, ca, command, servers, apply, marks, concurrency } = JSON.parse(process.argv[2]);
const kind = { apiVersion: 'v1', kind: 'ConfigMap' };
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const seen = new Set();
let total = 0;
let count = 0;
let late = [];

function noted(cluster, { data }) {
  count += 1;
  total += 1;
  if (!seen.has(cluster)) say({ first: cluster });
  seen.add(cluster);
  if (marks.includes(total)) say({ mark: total });
  if (data.at !== '') late.push(performance.timeOrigin + performance.now() - Number(data.at) / 1_000);
}

/** What is applied in each reconcile. */
const desired = ({ metadata: { name, uid } }) => ({ metadata: { name, labels: { app: name } }, data: { seen: uid } });

async function runFleet() {
  const { CredentialProviders, RestConfig } = await import('clusterprofile-credentials');
  const { Fleet } = await import('clusterprofile-credentials/fleet');
  const cluster = { server: hub, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const text = JSON.stringify({
    clusters: [{ name: 'hub', cluster }],
    users: [{ name: 'hub', user: { token: 'bench-token' } }],
    contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'hub' } }],
    'current-context': 'hub',
  });
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command };
  const providers = new CredentialProviders([{ name: 'bench', execConfig }]);
  const fleet = new Fleet({ hub: RestConfig.fromKubeConfig({ text }), providers });
  fleet.controller({
    name: 'bench',
    for: kind,
    concurrency,
    async reconcile({ namespace }, { cluster, object }) {
      if (apply)
        await cluster.resource({ ...kind, namespace, fieldManager: 'bench' }).apply(desired(object), { force: true });
      noted(Number(cluster.name.replace('bench/c-', '')), object);
    },
  });
  await fleet.run();
}

/** The same requests and the same JSON, without queue, retries, credentials or any check. */
async function runFloor() {
  const { Agent, request } = await import('node:https');
  const agent = new Agent({ keepAlive: true, ca });
  const send = (server, path, method, body, each) =>
    new Promise((resolve, reject) => {
      const headers = { authorization: 'Bearer bench-token', 'content-type': 'application/apply-patch+yaml' };
      const outgoing = request(`${server}/api/v1/${path}`, { agent, method, headers }, (incoming) => {
        incoming.setEncoding('utf8').on('data', each).on('end', resolve).on('error', reject);
      });
      outgoing.on('error', reject).end(body);
    });
  const queue = [];
  let busy = 0;
  const work = async () => {
    if (busy >= concurrency) return;
    busy += 1;
    for (let item = queue.shift(); item; item = queue.shift()) {
      const [index, object] = item;
      if (apply) {
        const { name, namespace } = object.metadata;
        const path = `namespaces/${namespace}/configmaps/${name}?fieldManager=bench&force=true`;
        let answer = '';
        await send(servers[index], path, 'PATCH', JSON.stringify({ ...kind, ...desired(object) }), (text) => {
          answer += text;
        });
        JSON.parse(answer);
      }
      noted(index, object);
    }
    busy -= 1;
  };
  for (const [index, server] of servers.entries()) {
    const cache = new Map();
    let open = '';
    const path =
      'configmaps?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
    void send(server, path, 'GET', undefined, (text) => {
      const lines = (open + text).split('\n');
      open = lines.pop();
      for (const line of lines) {
        const { type, object } = JSON.parse(line);
        if (type === 'BOOKMARK') continue;
        delete object.metadata.managedFields;
        cache.set(object.metadata.name, object);
        queue.push([index, object]);
        void work();
      }
    });
  }
}

createInterface(process.stdin)
  .on('line', () => {
    say({ reconciles: count, late: late.sort((a, b) => a - b)[late.length >> 1] ?? 0 });
    count = 0;
    late = [];
  })
  .on('close', () => process.exit(0));
await (floor ? runFloor() : runFleet());
