/**
 * JSONPath as kubectl has it: paths (`.items[*].metadata.name`), and templates that have them in braces. No library has this dialect: those
 * for RFC 9535 know neither `{range}` nor `.metadata.labels.example\.com/tier`.
 */
import { printableLines } from '../util/printable.ts';
import { exitCodes } from './exit-codes.ts';
import { Failure } from './failure.ts';
import { at } from './fields.ts';
import { jsonText } from './print.ts';

/** What a path finds in an object: nothing, one value, or several. */
export type Find = (from: unknown) => readonly unknown[];

/** `text` as kubectl takes it for a column: with or without braces, and the first dot. Throws a `Failure`. */
export function parsePath(text: string): Find {
  let rest = (/^\{(.*)\}$/s.exec(text)?.[1] ?? text).trim().replace(/^[$@]/, '');
  if (/^[^.[]/.test(rest)) rest = `.${rest}`;
  const steps: Find[] = [];
  while (rest !== '' && rest !== '.') {
    const [step, length] = firstStep(rest, text);
    steps.push(step);
    rest = rest.slice(length);
  }
  return (from) => steps.reduce<readonly unknown[]>((found, step) => found.flatMap(step), [from]);
}

/** A template: text, and in braces paths, `range PATH`, `end`, and quoted text. Throws a `Failure`. */
export function parseTemplate(text: string): (data: unknown) => string {
  const tokens = text.match(/\{(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^{}"'])*\}|[^{}]+|[{}]/gs) ?? [];
  return parseParts(tokens.values(), text, false);
}

/** As kubectl prints it: several values with blanks between them. */
export const textOfValues = (values: readonly unknown[], between = ' '): string => values.map(textOf).join(between);

function parseParts(tokens: Iterator<string>, whole: string, isInRange: boolean): (data: unknown) => string {
  const parts: ((data: unknown) => string)[] = [];
  for (let next = tokens.next(); ; next = tokens.next()) {
    if (next.done && isInRange) throw notPath(whole, '{range ...} has no {end}');
    const token: string = next.done ? '{end}' : next.value;
    const inside = /^\{(.*)\}$/s.exec(token)?.[1]?.trim();
    const [, range] = /^range\s+(.*)$/s.exec(inside ?? '') ?? [];
    const [, , quoted] = /^(["'])(.*)\1$/s.exec(inside ?? '') ?? [];
    if (inside === 'end') {
      if (!next.done && !isInRange) throw notPath(whole, '{end} has no {range ...}');
      return (data) => parts.map((part) => part(data)).join('');
    }
    if (token === '{' || token === '}') throw notPath(whole, `a ${token} has no partner`);
    if (range !== undefined) {
      const find = parsePath(range);
      const body = parseParts(tokens, whole, true);
      parts.push((data) => find(data).map(body).join(''));
    } else if (inside === undefined || quoted !== undefined) {
      const shown = quoted === undefined ? token : unescaped(quoted);
      parts.push(() => shown);
    } else {
      const find = parsePath(inside);
      parts.push((data) => textOfValues(find(data)));
    }
  }
}

const unescaped = (text: string) =>
  text.replace(/\\(.)/gs, (_, one: string) => ({ n: '\n', t: '\t', r: '\r' })[one] ?? one);

/** The forms of a step, each with what it finds. */
const forms: readonly (readonly [RegExp, (...parts: readonly string[]) => Find])[] = [
  [/^\.(?=\.)/, () => descendants],
  [/^(?:\.\*|\[\*\])/, () => children],
  [/^\.((?:\\.|[^\s.[\](){}=!<>\\])+)/, (name = '') => child(unescaped(name))],
  [/^\[(?:'([^']*)'|"([^"]*)")\]/, (single = '', double = '') => child(single || double)],
  [/^\[(-?\d+)\]/, (index) => (from) => (Array.isArray(from) ? from : []).slice(...bounds(Number(index)))],
  [
    /^\[(-?\d*):(-?\d*)\]/,
    (start = '', end = '') => {
      return (from) => (Array.isArray(from) ? from : []).slice(Number(start), end === '' ? undefined : Number(end));
    },
  ],
  [
    /^\[\?\(\s*@(.*?)\s*(?:(==|!=|<=|>=|<|>)\s*([^=].*?)\s*)?\)\]/s,
    (path = '', operator = '', literal = '') => filter(path, operator, literal),
  ],
];

function firstStep(rest: string, whole: string): readonly [Find, number] {
  for (const [form, toFind] of forms) {
    const [all, ...parts] = form.exec(rest) ?? [];
    if (all !== undefined) return [toFind(...parts), all.length];
  }
  throw notPath(whole, `${rest} cannot be read`);
}

const child =
  (name: string): Find =>
  (from) =>
    [at(from, name)].filter((value) => value !== undefined);
const children: Find = (from) => (typeof from === 'object' && from !== null ? Object.values(from) : []);
const descendants: Find = (from) => [from, ...children(from).flatMap(descendants)];
/** Of one entry; -1 is the last. */
const bounds = (index: number): readonly [number, number | undefined] => [index, index === -1 ? undefined : index + 1];

/** The children of which the path has a value, or one that compares. */
function filter(path: string, operator: string, literal: string): Find {
  const find = parsePath(path);
  const wanted = operator === '' ? undefined : literalOf(literal);
  return (from) =>
    children(from).filter((one) => {
      const [value] = find(one);
      return value !== undefined && (wanted === undefined || compares(value, operator, wanted));
    });
}

function compares(value: unknown, operator: string, wanted: string | number | boolean): boolean {
  if (operator === '==') return value === wanted;
  if (operator === '!=') return value !== wanted;
  if (typeof value !== typeof wanted || (typeof value !== 'number' && typeof value !== 'string')) return false;
  if (value === wanted) return operator.endsWith('=');
  return value < wanted === operator.startsWith('<');
}

function literalOf(literal: string): string | number | boolean {
  const [, , quoted] = /^(["'])(.*)\1$/s.exec(literal) ?? [];
  if (quoted !== undefined) return unescaped(quoted);
  if (literal === 'true' || literal === 'false') return literal === 'true';
  const number = Number(literal);
  if (Number.isNaN(number)) throw notPath(literal, 'must be a number, true, false or text in quotes');
  return number;
}

/** Nothing that a terminal acts on. */
function textOf(value: unknown): string {
  if (typeof value === 'object' && value !== null) return jsonText(value);
  return printableLines(String(value ?? ''));
}

function notPath(text: string, why: string): Failure {
  const hint = 'write it as for kubectl: {.metadata.name}, {range .items[*]}{.metadata.name}{"\\n"}{end}';
  return new Failure(exitCodes.usage, `JSONPath ${text}: ${why}`, hint);
}
