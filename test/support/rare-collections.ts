import { setFlagsFromString } from 'node:v8';

/**
 * By default V8 collects garbage after every few megabytes of buffers, however small its heap is. Tests of destinations
 * hand many buffers around while a worker's heap is large, and half of their processor time was that.
 */
setFlagsFromString('--external-memory-accounted-in-global-limit');
