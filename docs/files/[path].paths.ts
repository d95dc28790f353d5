export { outsidePages } from '../.vitepress/outside.ts';

import { outsidePages } from '../.vitepress/outside.ts';

export default { paths: outsidePages };
