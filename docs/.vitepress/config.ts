import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type DefaultTheme, defineConfig } from 'vitepress';
import { siteLink } from './outside.ts';
import { definedIn, sourceOf, version } from './source.ts';

/** The first heading of a page. */
function titleOf(page: string): string {
  const text = readFileSync(new URL(`../${page}.md`, import.meta.url), 'utf8');
  return /^# (.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? page;
}

const item = (page: string): DefaultTheme.SidebarItem => ({ text: titleOf(page), link: `/${page}` });
const pages = (...names: readonly string[]) => names.map(item);
const recipes = globSync('recipes/*.md', { cwd: fileURLToPath(new URL('..', import.meta.url)) }).sort();

const api = [
  { text: 'API', link: '/api/' },
  ...['', '/fleet', '/plugin', '/image-credentials', '/image-plugin', '/testing'].map((name) => ({
    text: `API: clusterprofile-credentials${name}`,
    link: `/api/clusterprofile-credentials${name}/`,
  })),
];

/** As GitHub makes them: pages are read there, too. */
const slugify = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\-_ ]/gu, '')
    .replaceAll(' ', '-');

export default defineConfig({
  title: 'clusterprofile-credentials',
  description: 'Credentials for multicluster Kubernetes controllers in TypeScript',
  // A site below a path: DOCS_BASE=/clusterprofile-credentials/ npm run docs
  base: process.env.DOCS_BASE ?? '/',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  // The start page is the README.
  rewrites: { 'files/start.md': 'index.md' },
  srcExclude: ['node_modules/**'],
  transformPageData(page) {
    const inSidebar = !page.params && !page.filePath.startsWith('api/');
    const frontmatter = { ...page.frontmatter, source: sourceOf(page) };
    return { frontmatter: inSidebar ? frontmatter : { ...frontmatter, prev: false, next: false } };
  },
  markdown: {
    anchor: { slugify },
    config(md) {
      md.core.ruler.push('one-source-of-a-page', (state) => {
        const isSource = (index: number) => definedIn.test(state.tokens[index]?.content ?? '');
        // A paragraph is three tokens: its opening, its text, its end.
        state.tokens = state.tokens.filter((_, index) => ![index - 1, index, index + 1].some(isSource));
      });
      md.core.ruler.push('links-of-the-site', ({ tokens, env }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const name = token.type === 'link_open' ? 'href' : token.type === 'image' ? 'src' : undefined;
          const value = name && token.attrGet(name);
          if (name && value) token.attrSet(name, siteLink(env.relativePath, value, name === 'src'));
        }
      });
    },
  },
  themeConfig: {
    nav: [{ text: version, link: '/files/CHANGELOG-md' }],
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      { text: 'Start', link: '/' },
      item('walk-through'),
      {
        text: 'For authors of controllers',
        items: pages(
          ...[
            'one-cluster',
            'every-cluster',
            'first-controller',
            'controllers',
            'kubeconfig',
            'fleet',
            'fleet-concepts',
            'fleet-reconciles',
            'fleet-replicas',
            'fleet-reference',
          ],
          ...['other-programs', 'testing', 'migration', 'faq'],
        ),
      },
      {
        text: 'For operators',
        items: pages(
          ...['operating', 'alerts', 'security', 'threat-model', 'observability', 'troubleshooting'],
          ...['errors', 'errors-access', 'errors-requests', 'command-line', 'command-line-kubeconfig', 'publish'],
        ),
      },
      ...(recipes.length === 0
        ? []
        : [{ text: 'Recipes', items: pages(...recipes.map((file) => file.replace(/\.md$/, ''))) }]),
      { text: 'For authors of plugins', items: pages('plugins', 'image-credentials') },
      { text: 'Reference', items: [...api, ...pages('stability', 'differences', 'benchmarks')] },
      { text: 'For contributors', items: pages('architecture') },
    ],
  },
});
