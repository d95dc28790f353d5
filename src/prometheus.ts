/**
 * The parts of prom-client that are used here. Its index loads a push gateway, default metrics and support for clusters as
 * well, which takes eight times as long.
 */
export { default as Counter } from 'prom-client/lib/counter.js';
export { default as Gauge } from 'prom-client/lib/gauge.js';
export { default as Histogram } from 'prom-client/lib/histogram.js';
