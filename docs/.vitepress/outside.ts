/**
 * Pages link to files of the repository that are no pages: examples, CRDs, CONTRIBUTING. The site has a page for each, so that it
 * is complete wherever it is served, and does not need to know where the repository is.
 */
import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, extname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** The start page is the README, which lies one folder above the others; files/start.md takes it in. */
const startPage = 'index.md';
const folderOf = (page: string) => (page === startPage ? '.' : posix.join('docs', posix.dirname(page)));

/** Where a link of a page leads, from the root of the repository; `undefined` where that is outside of it, or on the page itself. */
function targetOf(page: string, href: string): { readonly path: string; readonly hash: string } | undefined {
  if (/^(?:[a-z]+:|\/|#)/i.test(href)) return undefined;
  const [path = '', hash] = decodeURI(href).split('#');
  return { path: posix.join(folderOf(page), path), hash: hash === undefined ? '' : `#${hash}` };
}

const isPage = (path: string) => path === 'README.md' || (path.startsWith('docs/') && path.endsWith('.md'));
const addressOf = (path: string) => `files/${path.replace(/\/$/, '').replaceAll('.', '-')}`;

/** A link as the site needs it. `page` is relative to docs/, `isImage` for what stands in the page itself. */
export function siteLink(page: string, href: string, isImage = false): string {
  const target = targetOf(page, href);
  // What was made by a tool links to its own pages.
  if (!target || page.startsWith('api/')) return href;
  if (target.path === 'README.md') return `/${target.hash}`;
  if (isPage(target.path)) return `/${relative('docs', target.path)}${target.hash}`;
  if (isImage) {
    const from = page === startPage ? 'docs/files' : folderOf(page);
    return posix.relative(from, target.path).replace(/^(?!\.)/, './');
  }
  return `/${addressOf(target.path)}${target.hash}`;
}

interface OutsidePage {
  readonly params: { readonly path: string; readonly source: string };
  readonly content: string;
}

/** A page for each file and folder that a page links to, and for what is in those folders. */
export function outsidePages(): readonly OutsidePage[] {
  const pages = ['README.md', ...globSync(['docs/*.md', 'docs/recipes/*.md'], { cwd: root })];
  const wanted = new Set<string>();
  const visit = (path: string) => {
    const clean = path.replace(/\/$/, '');
    if (wanted.has(clean) || isPage(clean) || !existsSync(join(root, clean))) return;
    wanted.add(clean);
    if (statSync(join(root, clean)).isDirectory())
      for (const name of readdirSync(join(root, clean))) visit(`${clean}/${name}`);
    else if (clean.endsWith('.md')) for (const target of linksOf(clean)) visit(target);
  };
  for (const target of pages.flatMap(linksOf)) visit(target);
  return [...wanted].map((path) => ({
    params: { path: addressOf(path).slice('files/'.length), source: path },
    content: contentOf(path),
  }));
}

/** What a file of the repository links to. */
function linksOf(file: string): readonly string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, href = '']) =>
    /^(?:[a-z]+:|#|\/)/i.test(href) ? [] : [posix.join(dirname(file), href.replace(/#.*/, ''))],
  );
}

function contentOf(path: string): string {
  const file = join(root, path);
  if (statSync(file).isDirectory()) {
    const names = readdirSync(file);
    const items = names.map((name) => `- [${name}](/${addressOf(`${path}/${name}`)})`);
    const readme = names.includes('README.md') ? absoluteLinks(`${path}/README.md`) : `# ${path}`;
    return `${readme}\n\n${items.join('\n')}\n`;
  }
  if (path.endsWith('.md')) return absoluteLinks(path);
  const text = readFileSync(file, 'utf8');
  const language = { '.ts': 'ts', '.yaml': 'yaml', '.json': 'json', '.sh': 'sh' }[extname(path)] ?? 'text';
  return `# ${path}\n\n\`\`\`\`${language}\n${text}\n\`\`\`\`\n`;
}

/** The text of a file in Markdown, whose links are those of the site. */
function absoluteLinks(path: string): string {
  return readFileSync(join(root, path), 'utf8').replaceAll(/\]\(([^)\s]+)\)/g, (link, href: string) => {
    if (/^(?:[a-z]+:|#|\/)/i.test(href)) return link;
    const [file = '', hash] = href.split('#');
    const target = posix.join(dirname(path), file);
    const address = target === 'README.md' ? '' : isPage(target) ? relative('docs', target) : addressOf(target);
    return `](/${address}${hash === undefined ? '' : `#${hash}`})`;
  });
}
