// Compiles the Go excerpt of docs/migration.md with the Go library: what readers are told to replace has to be what they have.
import assert from 'node:assert/strict';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { blocks } from '../fixtures/docs.ts';
import { buildAccess } from './go-programs.ts';

/** Rejects with what the compiler says. */
export async function compileMigration(): Promise<void> {
  const [excerpt, second] = blocks('docs/migration.md', 'go');
  assert.ok(excerpt && second === undefined, 'docs/migration.md has one excerpt in Go');
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'migration-'));
  const folder = temporary.path;
  const file = join(folder, 'main.go');
  await writeFile(file, programOf(excerpt));
  await buildAccess(file, join(folder, 'program'));
}

/** With what an excerpt leaves out: imports, the profile, and a use of what it makes. */
function programOf(excerpt: string): string {
  return `package main

import (
	"flag"

	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	"sigs.k8s.io/cluster-inventory-api/pkg/access"
)

func excerpt(clusterProfile *v1alpha1.ClusterProfile) (*kubernetes.Clientset, error) {
${excerpt}
	return clientset, err
}

func main() {
	_, _ = excerpt(&v1alpha1.ClusterProfile{})
}
`;
}
