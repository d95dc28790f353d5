/** VitePress's own theme, with the version and the source of each page at its end. */
import { type Theme, useData } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { defineComponent, h } from 'vue';
import type { Source } from '../source.ts';
import './style.css';

const PageSource = defineComponent(() => {
  const { frontmatter } = useData();
  return () => {
    const { version, path, url }: Source = frontmatter.value.source;
    const source = url ? h('a', { href: url }, path) : h('code', path);
    return h('p', { class: 'page-source' }, [`clusterprofile-credentials ${version}, `, source]);
  };
});

const theme: Theme = {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'doc-after': () => h(PageSource) }),
};
export default theme;
