// npm run test:e2e [-- --seed 7]: what needs Go, and so stays out of npm test.
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { CannotBuild, compareMatchImage } from './match-image.ts';

const { values } = parseArgs({ options: { seed: { type: 'string', default: String(Date.now() % 1e6) } } });
const { exitCode, stdout } = await execa('go', ['version'], { reject: false });
if (exitCode === 0) {
  console.log(`${stdout}, seed ${values.seed}`);
  console.log("building the kubelet's credentialprovider: half a minute the first time, seconds later");
  try {
    const { compared, matched } = await compareMatchImage(30_000, Number(values.seed));
    console.log(
      `matchImage: ${compared} pairs compared with the kubelet's own code, ${matched} matches, no difference`,
    );
  } catch (error) {
    if (!(error instanceof CannotBuild)) throw error;
    console.log(`Go cannot fetch its modules here, so nothing was compared:\n${error.message}`);
  }
} else {
  console.log('Go is not installed, so nothing was compared: install Go 1.26 or later to run this.');
}
