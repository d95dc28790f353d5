/** The kinds of demos, benchmarks and long checks: an npm script and its first argument lead to a file. The first kind is the default. */
export const kinds = {
  demo: {
    clusters: 'examples/demo/demo.ts',
    fleet: 'examples/demo/fleet.ts',
    images: 'examples/image-credentials/demo.ts',
    real: 'test/e2e/demo.ts',
  },
  bench: {
    controllers: 'test/bench/fleet/controllers.ts',
    informers: 'test/bench/fleet/informers.ts',
    e2e: 'test/e2e/bench.ts',
    program: 'test/e2e/bench-program.ts',
  },
  'test:faults': {
    plugins: 'test/faults/faults.ts',
    transport: 'test/faults/transport.ts',
    fleet: 'test/faults/fleet.ts',
    model: 'test/model/model.ts',
  },
  'test:release': {
    package: 'test/package/check-package.ts',
    'client-node': 'test/package/client-node-versions.ts',
    compatibility: 'test/package/compatibility.ts',
    deployment: 'test/package/lint-deployment.ts',
  },
} as const;
