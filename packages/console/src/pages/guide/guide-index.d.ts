/** Made by guide-index.ts when the console is built. */
declare module "virtual:guide-index" {
  interface GuideEntry {
    /** Its place in the repository, such as `docs/guides/voice.md`. */
    readonly path: string;
    readonly title: string;
    readonly headings: readonly { readonly slug: string; readonly text: string }[];
  }
  export const entries: readonly GuideEntry[];
}
