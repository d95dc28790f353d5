/** `npm run demo -- fleet --seconds 60` runs a kind of demo with the arguments that follow it. `kinds.ts` lists them. */
import { kinds } from './kinds.ts';

const [script = '', ...given] = process.argv.splice(2);
const known: Readonly<Record<string, string>> = Object.entries(kinds).find(([name]) => name === script)?.[1] ?? {};
const [first = ''] = given;
const isNamed = first !== '' && !first.startsWith('-');
const kind = isNamed ? first : (Object.keys(known)[0] ?? '');
const file = known[kind];
if (file === undefined) {
  console.error(`npm run ${script} -- ${kind}: there is no such kind; known are ${Object.keys(known).join(', ')}`);
  process.exit(1);
}
process.argv.push(...given.slice(isNamed ? 1 : 0));
await import(`../${file}`);
