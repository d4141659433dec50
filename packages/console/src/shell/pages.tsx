/**
 * The pages. Each is a separate file, loaded on demand or in advance. A loaded page is shown at once. With React's `lazy`
 * it would suspend the first time, and React shows a fallback for at least 300 ms.
 */
import { consolePaths } from "@tendon/protocol";
import { type ComponentType, lazy, useEffect, useState } from "react";
import { Redirect, Route, Switch } from "wouter";
import { FleetPage } from "../pages/fleet/fleet.tsx";
import { NotFoundPage } from "../pages/not-found.tsx";

class Page {
  readonly Late: ComponentType;
  /** The component, once it is loaded. */
  ready: ComponentType | undefined;
  readonly #load: () => Promise<ComponentType>;

  constructor(load: () => Promise<ComponentType>) {
    this.#load = load;
    this.Late = lazy(async () => ({ default: await this.fetch() }));
  }

  async fetch(): Promise<ComponentType> {
    this.ready = await this.#load();
    return this.ready;
  }
}

/** Keeps one component per page, because a different component would lose the page's state. */
function Shown({ page }: { readonly page: Page }) {
  const [Chosen] = useState<ComponentType>(() => page.ready ?? page.Late);
  return <Chosen />;
}

const pages = {
  [consolePaths.device]: new Page(async () => (await import("../pages/device/device.tsx")).DevicePage),
  [consolePaths.calls]: new Page(async () => (await import("../pages/calls/calls.tsx")).CallsPage),
  [consolePaths.call]: new Page(async () => (await import("../pages/calls/call.tsx")).CallPage),
  [consolePaths.approvals]: new Page(
    async () => (await import("../pages/approvals/approvals.tsx")).ApprovalsPage,
  ),
  [consolePaths.home]: new Page(async () => (await import("../pages/home/home.tsx")).HomePage),
  [consolePaths.voice]: new Page(async () => (await import("../pages/voice/voice.tsx")).VoicePage),
  [consolePaths.firmware]: new Page(
    async () => (await import("../pages/firmware/firmware.tsx")).FirmwarePage,
  ),
  [consolePaths.overview]: new Page(
    async () => (await import("../pages/overview/overview.tsx")).OverviewPage,
  ),
  [consolePaths.guide]: new Page(async () => (await import("../pages/guide/guide.tsx")).GuidePage),
  [consolePaths.guides]: new Page(async () => (await import("../pages/guide/guides-page.tsx")).GuidesPage),
  [consolePaths.webhooks]: new Page(
    async () => (await import("../pages/webhooks/webhooks.tsx")).WebhooksPage,
  ),
  [consolePaths.voiceAgents]: new Page(
    async () => (await import("../pages/voice-agents/voice-agents.tsx")).VoiceAgentsPage,
  ),
  [consolePaths.tokens]: new Page(async () => (await import("../pages/tokens/tokens.tsx")).TokensPage),
  [consolePaths.audit]: new Page(async () => (await import("../pages/audit/audit.tsx")).AuditPage),
  [consolePaths.settings]: new Page(
    async () => (await import("../pages/settings/settings.tsx")).SettingsPage,
  ),
  [consolePaths.connect]: new Page(async () => (await import("../pages/connect/connect.tsx")).ConnectPage),
} as const satisfies Readonly<Record<string, Page>>;

const idleMs = 1_500;

/** Loads the other pages after the first one, so that a click shows them at once. */
export function usePagesFetchedAhead(): void {
  useEffect(() => {
    const timer = setTimeout(() => {
      // A page that fails to load now is loaded when it is opened.
      for (const page of Object.values(pages)) void page.fetch().catch(() => undefined);
    }, idleMs);
    return () => clearTimeout(timer);
  }, []);
}

export function Pages() {
  return (
    <Switch>
      <Route path={consolePaths.fleet} component={FleetPage} />
      <Route path={consolePaths.signIn}>
        <Redirect to={consolePaths.fleet} replace />
      </Route>
      {Object.entries(pages).map(([path, page]) => (
        <Route key={path} path={path}>
          <Shown key={path} page={page} />
        </Route>
      ))}
      <Route component={NotFoundPage} />
    </Switch>
  );
}
