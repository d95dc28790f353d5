/** Label and field selectors, as the query of a list, a watch or a deletion has them. */

import { type JsonObject, valueAt } from './json.ts';
import { labelKeyProblem, labelValueProblem } from './names.ts';
import type { ResourceType } from './resource-type.ts';
import { badRequest } from './status.ts';

export type Matches = (object: JsonObject) => boolean;

export interface FieldSelector {
  readonly matches: Matches;
  /** The one name, or the one namespace, that can match. */
  readonly name: string | undefined;
  readonly namespace: string | undefined;
}

type Requirement = (labels: Readonly<Record<string, unknown>>) => boolean;

const tokenPattern = /\s*(?:(!=|==|[=!,()<>])|([^\s=!,()<>]+))/y;

/** Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`. Throws a 400 where it is something else. */
export function parseLabelSelector(text: string): Matches {
  const tokens = tokensOf(text);
  const requirements: Requirement[] = [];
  let at = 0;
  const next = () => tokens[at++] ?? '';
  const fail = (found: string, expected: string): never => {
    throw badRequest(`unable to parse requirement: found '${found}', expected: ${expected}`);
  };

  while (at < tokens.length) {
    requirements.push(requirement());
    if (at === tokens.length) break;
    const comma = next();
    if (comma !== ',' || at === tokens.length) fail(comma, "',' or 'end of string'");
  }
  return (object) => {
    const found = valueAt(object, ['metadata', 'labels']);
    const labels = typeof found === 'object' && found !== null ? (found as JsonObject) : {}; // validated: texts only
    return requirements.every((holds) => holds(labels));
  };

  function requirement(): Requirement {
    const absent = tokens[at] === '!';
    if (absent) at += 1;
    const key = next();
    if (!isWord(key)) fail(key, 'identifier');
    const problem = labelKeyProblem(key);
    if (problem !== undefined)
      throw badRequest(`unable to parse requirement: <nil>: Invalid value: "${key}": ${problem}`);
    const has: Requirement = (labels) => Object.hasOwn(labels, key);
    if (absent) return (labels) => !has(labels);
    if (at === tokens.length || tokens[at] === ',') return has;
    const operator = next();
    switch (operator) {
      case '=':
      case '==': {
        const [value] = checked(key, [exactValue()]);
        return (labels) => has(labels) && labels[key] === value;
      }
      case '!=': {
        const [value] = checked(key, [exactValue()]);
        return (labels) => !has(labels) || labels[key] !== value;
      }
      case 'in': {
        const values = new Set<unknown>(checked(key, valueSet()));
        return (labels) => has(labels) && values.has(labels[key]);
      }
      case 'notin': {
        const values = new Set<unknown>(checked(key, valueSet()));
        return (labels) => !has(labels) || !values.has(labels[key]);
      }
      case '<':
      case '>': {
        const limit = exactValue();
        if (!/^[+-]?\d+$/.test(limit)) fail(limit, 'an integer');
        const holds = (value: number) => (operator === '>' ? value > Number(limit) : value < Number(limit));
        return (labels) => has(labels) && /^[+-]?\d+$/.test(String(labels[key])) && holds(Number(labels[key]));
      }
      default:
        return fail(operator, 'in, notin, =, ==, !=, <, >');
    }
  }

  function exactValue(): string {
    const token = tokens[at];
    if (token === undefined || token === ',') return '';
    if (!isWord(token)) fail(token, 'identifier');
    return next();
  }

  function valueSet(): readonly string[] {
    if (tokens[at] !== '(') fail(tokens[at] ?? '', "'('");
    const values: string[] = [];
    let value = '';
    for (;;) {
      at += 1;
      const token = tokens[at] ?? '';
      if (token === ',' || token === ')') {
        values.push(value);
        value = '';
        if (token === ')') break;
      } else if (isWord(token) && value === '') value = token;
      else fail(token, "',' or ')'");
    }
    at += 1;
    return values;
  }
}

const isWord = (token: string) => token !== '' && !/[=!,()<>]/.test(token);

function tokensOf(text: string): readonly string[] {
  const tokens: string[] = [];
  const trimmed = text.trimEnd();
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < trimmed.length) {
    const [, symbol, word] = tokenPattern.exec(trimmed) ?? [];
    tokens.push(symbol ?? word ?? '');
  }
  return tokens;
}

function checked(key: string, values: readonly string[]): readonly string[] {
  for (const value of values) {
    const problem = labelValueProblem(value);
    if (problem !== undefined) {
      throw badRequest(`unable to parse requirement: values[0][${key}]: Invalid value: "${value}": ${problem}`);
    }
  }
  return values;
}

/** One condition of a field selector. */
export interface FieldTerm {
  readonly label: string;
  readonly value: string;
  readonly equal: boolean;
}

/** Reads `metadata.name=a,status.phase!=Running`. Throws a 400 where it is something else. */
export function parseFieldTerms(text: string): readonly FieldTerm[] {
  return splitTerms(text).map((term) => {
    const [, label, operator, value] = /^(.*?)(!=|==|=)(.*)$/s.exec(term) ?? [];
    if (label === undefined || value === undefined) {
      throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    }
    return { label, value: unescaped(value), equal: operator !== '!=' };
  });
}

/** A selector of fields that objects of a kind can be selected by. Throws a 400 for another field. */
export function fieldSelector(terms: readonly FieldTerm[], type: ResourceType): FieldSelector {
  const conditions = terms.map((term) => {
    const field = type.fields.find(({ label }) => label === term.label);
    if (!field) throw badRequest(`field label not supported: ${term.label}`);
    return { ...term, ...field };
  });
  const exact = (label: string) => terms.find((term) => term.label === label && term.equal)?.value;
  return {
    matches: (object) =>
      conditions.every(({ value, equal, path, otherwise }) => {
        const found = valueAt(object, path) ?? otherwise;
        return (String(found) === value) === equal;
      }),
    name: exact('metadata.name'),
    namespace: exact('metadata.namespace'),
  };
}

/** Parts between commas that no backslash stands before. */
function splitTerms(text: string): readonly string[] {
  return (text.match(/(?:\\.|[^\\,])+\\?/gs) ?? []).filter((term) => term !== '');
}

function unescaped(value: string): string {
  return value.replace(/\\(.?)|[,=]/gs, (found, escaped: string | undefined) => {
    if (escaped === undefined || !['\\', ',', '='].includes(escaped)) {
      throw badRequest(`invalid field selector: ${JSON.stringify(found)} in a value`);
    }
    return escaped;
  });
}
