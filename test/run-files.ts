/**
 * `npm run test:file -- test/rest/http2.test.ts --test-name-pattern restarted`: some files, with Node's own options for tests in any place.
 * Node takes what stands after the first file for another argument of the tests.
 */
import { execa } from 'execa';

const given = process.argv.slice(2);
const isFile = (argument: string) => /^[^-].*\.test\.ts$/.test(argument);
const options = ['--expose-gc', '--import', './test/fixtures/strict.ts', '--test', '--test-timeout=180000'];
const { exitCode = 1 } = await execa(
  process.execPath,
  [...options, ...given.filter((argument) => !isFile(argument)), ...given.filter(isFile)],
  { stdio: 'inherit', reject: false },
);
process.exitCode = exitCode;
