/** Which file of the repository a page is made from, in which version, and where to read it. */
import { readFileSync } from 'node:fs';
import type { PageData } from 'vitepress';

interface Manifest {
  readonly version: string;
  /** Set where the package is released: CONTRIBUTING.md. */
  readonly repository?: { readonly url: string };
}

const manifest: Manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
export const { version } = manifest;
const repository = manifest.repository?.url.replace(/^git\+/, '').replace(/\.git$/, '');

/** What typedoc writes below each name. A page shows it once, at its end. */
export const definedIn = /^Defined in: \[(\S+?):\d+\]/;

export interface Source {
  readonly version: string;
  readonly path: string;
  /** Absent while package.json names no repository. */
  readonly url?: string;
}

export function sourceOf(page: Pick<PageData, 'filePath' | 'params'>): Source {
  const path = pathOf(page);
  return repository ? { version, path, url: `${repository}/blob/v${version}/${path}` } : { version, path };
}

function pathOf({ filePath, params }: Pick<PageData, 'filePath' | 'params'>): string {
  if (filePath === 'files/start.md') return 'README.md';
  if (params) return params.source;
  if (!filePath.startsWith('api/')) return `docs/${filePath}`;
  const lines = readFileSync(new URL(`../${filePath}`, import.meta.url), 'utf8').split('\n');
  const [, path] = lines.map((line) => definedIn.exec(line)).find(Boolean) ?? [];
  // The page of a module, or of all of them.
  return path ?? filePath.replace(/^api\/(?:clusterprofile-credentials\/)?/, 'src/').replace(/\.md$/, '.ts');
}
