/**
 * The console's server side: the built page with its strict headers, and signing in. A page uses the same REST as
 * everybody; what is its own is the session, a cookie that counts under /api/v1 and nowhere else.
 */
import type { Http } from "../http.ts";
import { fileRoutes } from "./files.ts";
import { type InsightNeeds, insightRoutes } from "./insights.ts";
import { Overview, type OverviewNeeds } from "./overview.ts";
import { SignIn, type SignInNeeds } from "./sign-in.ts";

export { valueWithoutSecrets } from "./masking.ts";

export type ConsoleNeeds = SignInNeeds & OverviewNeeds & Omit<InsightNeeds, "overview">;

export interface Console {
  readonly signIn: SignIn;
  /** What belongs to those who are signed in. */
  routes(http: Http): void;
}

export async function consoleRoutes(http: Http, needs: ConsoleNeeds): Promise<Console> {
  const signIn = new SignIn(needs);
  await signIn.sessions.load();
  const overview = new Overview(needs);
  http.decorateRequest("consoleSession", undefined);
  http.addHook("onClose", async () => {
    overview.stop();
    await signIn.sessions.stop();
  });
  await http.register(
    async (api) => {
      signIn.routes(api as unknown as Http);
    },
    { prefix: "/api/v1" },
  );
  fileRoutes(http);
  return { signIn, routes: (signedIn) => insightRoutes(signedIn, { ...needs, overview }) };
}
