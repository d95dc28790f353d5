// What both servers say about themselves: every kind that the fake serves is described as the real server describes it.
import { isDeepStrictEqual } from 'node:util';
import { isList, isObject, type Json, type JsonObject } from '../../../src/testing/api/json.ts';
import type { Side } from '../../testing/scenarios/side.ts';

/** How many resources both describe in the same way. Throws at one that they do not. */
export async function compareDiscovery(real: Side, fake: Side): Promise<number> {
  const read = async (side: Side, path: string) => (await side.send({ method: 'GET', path })).body;
  const groups = valuesOf(await read(fake, '/apis'), 'groups').flatMap((group) =>
    valuesOf(group, 'versions').map(({ groupVersion }) => `/apis/${String(groupVersion)}`),
  );
  let same = 0;
  for (const path of ['/api/v1', ...groups]) {
    const theirs = new Map(valuesOf(await read(real, path), 'resources').map((one) => [one.name, described(one)]));
    for (const resource of valuesOf(await read(fake, path), 'resources')) {
      // The fake's own, which the real server has not been told of.
      if (resource.name === 'placementdecisions') continue;
      if (!isDeepStrictEqual(theirs.get(resource.name), described(resource))) {
        throw new Error(`${path} ${String(resource.name)}: ${JSON.stringify([theirs.get(resource.name), resource])}`);
      }
      same += 1;
    }
  }
  return same;
}

const valuesOf = (value: Json, field: string): readonly JsonObject[] => {
  const list = isObject(value) ? value[field] : undefined;
  return isList(list) ? list.filter(isObject) : [];
};

/** The hash is of the server's own storage; verbs have no order; the fake has no short names and no categories. */
function described({ storageVersionHash: _, shortNames: __, categories: ___, verbs, ...rest }: JsonObject): JsonObject {
  return { ...rest, verbs: isList(verbs) ? verbs.map(String).sort() : [] };
}
