// npm run test:faults -- transport [--seconds 60 --seed 7 --round 12]
// Requests of every kind over connections that misbehave at random. The seed and the round make it repeatable.
import { parseArgs } from 'node:util';
import { driveTransport } from './transport/drive.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1e6) },
    round: { type: 'string' },
  },
});
console.log(`${values.seconds} s of a misbehaving transport, seed ${values.seed}`);
const round = values.round === undefined ? undefined : Number(values.round);
console.log(await driveTransport({ seed: Number(values.seed), seconds: Number(values.seconds), round }));
// Node may wait without end, busy, for a write to a connection that was reset, where it ends by itself.
process.exit();
