/** Which objects a cache with selectors holds, as an API server decides it. */
import type { ReflectedResource } from '../reflect/reflector.ts';

type Selectors = Pick<ReflectedResource, 'namespace' | 'labelSelector' | 'fieldSelector'>;

interface Labelled {
  readonly metadata?: { readonly namespace?: string; readonly labels?: Readonly<Record<string, string>> | null };
}

/** Whether a resource with these selectors has an object. */
export function isSelected({ namespace, labelSelector, fieldSelector }: Selectors, object: Labelled): boolean {
  const { metadata } = object;
  if (namespace !== undefined && namespace !== metadata?.namespace) return false;
  if (labelSelector && !matchesLabels(labelSelector, metadata?.labels ?? {})) return false;
  return !fieldSelector || matchesFields(fieldSelector, object);
}

/** `a=b,c!=d,e in (f,g),h notin (i),j,!k`, as apimachinery reads it. */
function matchesLabels(selector: string, labels: Readonly<Record<string, string>>): boolean {
  // Commas within parentheses separate values.
  return selector.split(/,(?![^(]*\))/).every((requirement) => {
    const {
      not,
      key = '',
      operator,
      values,
    } = /^\s*(?<not>!?)\s*(?<key>[^\s!=<>,()]+)\s*(?:(?<operator>==?|!=|<|>|\bin\b|\bnotin\b)\s*(?<values>.*?))?\s*$/.exec(
      requirement,
    )?.groups ?? {};
    const label = Object.hasOwn(labels, key) ? labels[key] : undefined;
    const wanted = (values ?? '')
      .replace(/^\(|\)$/g, '')
      .split(',')
      .map((value) => value.trim());
    switch (operator) {
      case '=':
      case '==':
      case 'in':
        return label !== undefined && wanted.includes(label);
      case '!=':
      case 'notin':
        return label === undefined || !wanted.includes(label);
      case '<':
        return label !== undefined && Number(label) < Number(values);
      case '>':
        return label !== undefined && Number(label) > Number(values);
      default:
        return (label !== undefined) !== (not === '!');
    }
  });
}

/** `metadata.name=a,status.phase!=Running`: an absent field is empty. */
function matchesFields(selector: string, object: object): boolean {
  return selector.split(/(?<!\\),/).every((requirement) => {
    const [, path = '', operator, value = ''] = /^(.*?)(==?|!=)(.*)$/s.exec(requirement) ?? [];
    let field: unknown = object;
    for (const name of path.trim().split('.')) field = Object(field)[name];
    const isEqual = String(field ?? '') === value.replace(/\\(.)/g, '$1');
    return operator === '!=' ? !isEqual : isEqual;
  });
}
