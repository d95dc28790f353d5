import { describe, test } from 'node:test';
import { casesOf, shapes } from '../../examples/producers/suite.ts';

describe('a profile as its producer writes it works, or fails with words that say what is missing', () => {
  for (const folder of shapes()) {
    for (const { name, check } of casesOf(folder)) test(name, check);
  }
});
