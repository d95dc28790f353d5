import { test } from 'node:test';
import { promises } from '../../model/promises.ts';

// `npm run test:faults -- model` plays thousands.
for (const { title, few, check } of promises) test(title, () => check({ numRuns: few }));
