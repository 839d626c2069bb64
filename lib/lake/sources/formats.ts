/** What imports are asked for, by name. */

/** What a file may hold. Lines may be packed with gzip or zstd. */
export const IMPORT_FORMATS = ['combined', 'jsonl', 'csv', 'parquet'] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

/** Which requests are page views: those for pages by people, or all. */
export const PAGE_VIEWS = ['pages', 'all'] as const;
export type PageViews = (typeof PAGE_VIEWS)[number];
