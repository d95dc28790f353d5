import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ApiError,
  ConnectionError,
  type CredentialsError,
  FleetError,
  PluginError,
  RequestError,
} from '../../src/index.ts';
import { read } from '../fixtures/docs.ts';

describe('the pages of docs/errors.md', () => {
  const pages = ['docs/errors-access.md', 'docs/errors-requests.md'];
  const inCode = [...read('src/errors/credentials-error.ts').matchAll(/(?<=\| |= )'([A-Z_]+)'/g)].map(
    ([, code = '']) => code,
  );
  const sections = pages
    .map(read)
    .join('\n')
    .split(/^(?=#+ )/m)
    .filter((section) => /^### [A-Z_]+\n/.test(section));

  test('has a section for each code, and for no other', () => {
    const codes = sections.map((section) => /^### (\w+)/.exec(section)?.[1]);
    assert.deepEqual(codes.toSorted(), [...new Set(inCode)].toSorted());
  });

  test('says of each whether it is retryable, as the code has it', () => {
    const failure = { provider: '', origin: '', command: '' };
    const cluster = { name: '', server: '' };
    // Errors of the other classes never are.
    const makers: Readonly<Record<string, (code: never, statusCode?: number) => CredentialsError>> = {
      PluginErrorCode: (code) => new PluginError(code, '', failure),
      RequestErrorCode: (code, statusCode) => new RequestError(code, '', { statusCode }),
      ConnectionErrorCode: (code) => new ConnectionError(code, cluster, ''),
      FleetErrorCode: (code) => new FleetError(code, ''),
      ApiErrorCode: (code, statusCode) => new ApiError(code, '', { statusCode }),
    };
    const unions = read('src/errors/credentials-error.ts').split(/^export type /m);
    const isRetryable = (code: string, statusCode?: number) =>
      Object.entries(makers).some(([name, make]) => {
        const isOfClass = unions.some((union) => union.startsWith(`${name} `) && union.includes(`'${code}'`));
        return isOfClass && make(code as never, statusCode).retryable; // its union has it
      });
    for (const section of sections) {
      const [, code = '', said] =
        /^### (\w+)\n[\s\S]*\n- \*\*Retryable:\*\* (yes|no|after a 429 or 5xx)\./.exec(section) ?? [];
      const byStatus = said === 'after a 429 or 5xx';
      if (byStatus)
        assert.deepEqual(
          [404, 429, 503].map((status) => isRetryable(code, status)),
          [false, true, true],
          code,
        );
      else assert.equal(said, isRetryable(code) ? 'yes' : 'no', code);
    }
  });
});
