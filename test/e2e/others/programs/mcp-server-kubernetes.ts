// An MCP client, which starts the server as assistants do. The server has client-node 1.3, and runs kubectl for its tools.
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { serve } from './serve.ts';

const server = fileURLToPath(new URL('./node_modules/mcp-server-kubernetes/dist/index.js', import.meta.url));
const { PATH = '', HOME = '', KUBECONFIG = '' } = process.env;
const client = new Client({ name: 'e2e', version: '1.0.0' });
await client.connect(
  new StdioClientTransport({ command: process.execPath, args: [server], env: { PATH, HOME, KUBECONFIG } }),
);

await serve(async () => {
  const resource = await client.readResource({ uri: 'k8s://namespaces' });
  const tool = await client.callTool({ name: 'kubectl_get', arguments: { resourceType: 'namespaces' } });
  const isListed = (answer: object) => JSON.stringify(answer).includes('kube-system');
  return { resource: isListed(resource), tool: isListed(tool) };
});
