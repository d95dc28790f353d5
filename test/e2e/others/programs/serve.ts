import { createInterface } from 'node:readline';

/** For each line of stdin does its work, and answers with a line of JSON. Ends with stdin. */
export async function serve(work: () => Promise<unknown>): Promise<void> {
  for await (const _line of createInterface({ input: process.stdin })) {
    const answer = await work().then(
      (value) => ({ value }),
      (error) => ({ error: error instanceof Error ? error.message : JSON.stringify(error) }),
    );
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  process.exit(0);
}
