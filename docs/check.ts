/**
 * Reads every page of the built site in Chromium, as on a screen and as on a phone: no error, no dead link, no scrolling to the side,
 * no code that is cut, the version and the source at the end, and a search that finds. Chromium is the one of `CHROMIUM`, or the first that is installed.
 */
import { createReadStream, existsSync, globSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { delimiter, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page, type Response } from 'playwright-core';

const site = fileURLToPath(new URL('.vitepress/dist/', import.meta.url));
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
};
/** Pixels. */
const phone = { width: 390, height: 844 };
const screen = { width: 1280, height: 800 };

const names = ['chromium', 'google-chrome', 'chromium-browser', 'chrome'];
const installed = (process.env.PATH ?? '')
  .split(delimiter)
  .flatMap((folder) => names.map((name) => join(folder, name)))
  .find((path) => existsSync(path));
const executablePath = process.env.CHROMIUM ?? installed;
if (!executablePath) throw new Error('there is no Chromium: install one, or set CHROMIUM to its path');
if (!existsSync(site)) throw new Error('there is no site: npm run docs');

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://site');
  const path = join(site, decodeURIComponent(pathname));
  const file = [path, `${path}.html`, join(path, 'index.html')].find(
    (name) => existsSync(name) && statSync(name).isFile(),
  );
  if (!file) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' });
  createReadStream(file).pipe(response);
});
const port = await new Promise<number>((resolve, reject) => {
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address === 'object' && address) resolve(address.port);
    else reject(new Error('no port'));
  });
});
const origin = `http://127.0.0.1:${port}`;
const problems: string[] = [];

interface Seen {
  /** Addresses of the site that it links to, with what stands behind a `#`. */
  readonly links: readonly string[];
  readonly anchors: readonly string[];
}

/** Opens a page, and waits until its program runs: what is wrong with that shows then. */
async function open(page: Page, path: string): Promise<Response | null> {
  const response = await page.goto(origin + path, { waitUntil: 'load' });
  await page.waitForFunction(() => '__vue_app__' in (document.querySelector('#app') ?? {}));
  return response;
}

/** Opens one page in both sizes. */
async function read(page: Page, path: string): Promise<Seen> {
  const response = await open(page, path);
  if (response?.status() !== 200) problems.push(`${path}: ${response?.status()}`);
  await page.setViewportSize(phone);
  const { width, widest, cut, small } = await page.evaluate(() => {
    const wide = [...document.querySelectorAll('main *')].find(
      (element) =>
        element.getBoundingClientRect().right > innerWidth && !element.closest('table, pre, .VPDocOutlineDropdown'),
    );
    // Tables that a program prints scroll.
    const code = [...document.querySelectorAll('[class*=language-]:not(.language-console) > pre')];
    return {
      width: document.documentElement.scrollWidth,
      widest: wide?.outerHTML.slice(0, 120) ?? '',
      cut: code
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        .map(({ textContent }) => textContent),
      small: [...document.querySelectorAll('img')].filter((image) => image.width < 0.75 * image.naturalWidth).length,
    };
  });
  if (width > phone.width) problems.push(`${path}: ${width} pixels wide on a phone: ${widest}`);
  for (const text of cut) problems.push(`${path}: cut on a phone: ${text}`);
  if (small > 0) problems.push(`${path}: a diagram that is too small to read on a phone`);
  if (path === '/') await codeIsOnFirstScreen(page, phone.height);
  await page.setViewportSize(screen);
  if (path === '/') await codeIsOnFirstScreen(page, screen.height);
  const source = await page.locator('.page-source').textContent();
  if (!/^clusterprofile-credentials \d\S*, \S+$/.test(source ?? '')) problems.push(`${path}: ends with ${source}`);
  const undocumented = await page.locator('tr:has(td:text-is("-"))').allTextContents();
  if (path.startsWith('/api/')) for (const row of undocumented) problems.push(`${path}: nothing is said about ${row}`);
  return page.evaluate(() => ({
    links: [...document.querySelectorAll<HTMLAnchorElement>('a[href]')]
      .filter(({ origin }) => origin === location.origin)
      .map(({ pathname, hash }) => pathname + hash),
    anchors: [...document.querySelectorAll('[id]')].map(({ id }) => id),
  }));
}

async function codeIsOnFirstScreen(page: Page, height: number): Promise<void> {
  const box = await page.locator('.language-ts').first().boundingBox();
  const end = box ? box.y + box.height : Number.POSITIVE_INFINITY;
  if (end > height) problems.push(`the first code of the start page ends at ${end} of ${height} pixels`);
}

async function search(page: Page, words: string, found: RegExp): Promise<void> {
  await open(page, '/');
  await page.locator('#local-search button').click();
  await page.locator('.VPLocalSearchBox input').fill(words);
  const first = page.locator('.VPLocalSearchBox .results a').first();
  await first.waitFor({ timeout: 20_000 });
  const address = (await first.getAttribute('href')) ?? '';
  if (!found.test(address)) problems.push(`a search for ${words} finds ${address} first`);
}

async function readAll(browser: Browser): Promise<number> {
  const page = await browser.newPage({ viewport: screen });
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(`${page.url()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.message}`));
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${page.url()}: ${response.url()} is ${response.status()}`);
  });
  const keyOf = (path: string) => path.replace(/(?:index)?\.html$/, '') || '/';
  const seen = new Map<string, Seen>();
  const waiting = ['/'];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path)) continue;
    const found = await read(page, path);
    seen.set(path, found);
    for (const link of found.links) waiting.push(keyOf(link.replace(/#.*/, '')));
  }
  for (const [path, { links }] of seen) {
    for (const link of new Set(links)) {
      const [to = '', anchor = ''] = link.split('#');
      const target = seen.get(keyOf(to));
      if (anchor && target && !target.anchors.includes(decodeURIComponent(anchor)))
        problems.push(`${path}: dead link ${link}`);
    }
  }
  const written = globSync(['*.md', 'recipes/*.md'], { cwd: fileURLToPath(new URL('.', import.meta.url)) });
  for (const file of written) {
    const path = keyOf(`/${file.replace(/\.md$/, '.html')}`).replace(/\.html$/, '');
    if (!seen.has(path) && !seen.has(`${path}.html`)) problems.push(`no page links to ${file}`);
  }
  await search(page, 'PLUGIN_TIMEOUT', /errors/);
  return seen.size;
}

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const count = await readAll(browser);
  console.log(`${count} pages read, each on a screen and on a phone`);
} finally {
  await browser.close();
  server.close();
}
for (const problem of new Set(problems)) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
