import type { Place } from '../../access/yaml-text.ts';

/**
 * Maps places in a text that is a value in a YAML file to places in that file. In a block (`|`) each line of the
 * text is a line of the file, further in by `indent`; of any other form only the beginning is known. `start` is where the value
 * begins.
 */
export function scalarPlaces(start: Place, indent: number | undefined): (place: Place) => Place {
  if (indent === undefined) return () => start;
  return ({ line, column }) => ({ line: start.line + line, column: column + indent });
}
