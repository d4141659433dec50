/** Tokens: what each may do, who created it, when and from where it was last used. Revoked tokens are not listed. */
import type { TokenView } from "@tendon/protocol";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { useTokens } from "../../api/tokens.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { PageHeader } from "../../shell/page-header.tsx";
import { AdminOnly } from "../../ui/admin-only.tsx";
import { Button } from "../../ui/button.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Badge, Empty, SkeletonRows } from "../../ui/states.tsx";
import { Ago, useNow } from "../../ui/time.tsx";
import { CreateTokenDialog } from "./create-token.tsx";
import { RevokeTokenDialog } from "./revoke-token.tsx";
import { Limits, scopeText } from "./token-texts.tsx";

export function TokensPage() {
  const { t } = useI18n();
  return (
    <>
      <PageHeader title={t("tokens.title")} lead={t("tokens.lead")} actions={<CreateButton />} />
      <AdminOnly>
        <TokenTable />
      </AdminOnly>
    </>
  );
}

function CreateButton() {
  const { t } = useI18n();
  const { data } = useTokens();
  const [open, setOpen] = useState(false);
  if (data === undefined) return null;
  return (
    <>
      <Button look="primary" icon="plus" onClick={() => setOpen(true)}>
        {t("tokens.create")}
      </Button>
      {open && <CreateTokenDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function TokenTable() {
  const { t } = useI18n();
  const { data, error } = useTokens();
  const now = useNow();
  // While the gateway is away, the list stays as it was.
  if (data === undefined) return error === null ? <SkeletonRows /> : <ProblemNote error={error} />;
  if (data.tokens.length === 0)
    return (
      <Empty icon="key" title={t("tokens.none")}>
        <p>{t("tokens.noneHint")}</p>
        <p className="text-sm">{t("tokens.adminNote")}</p>
      </Empty>
    );
  // Expired tokens last; within each group, the newest first.
  const rows = data.tokens.map((token) => ({ token, expired: isExpired(token, now) })).reverse();
  rows.sort((a, b) => Number(a.expired) - Number(b.expired));
  return (
    <>
      <ul
        aria-label={t("tokens.title")}
        className="divide-y divide-line rounded-xl border border-line bg-surface"
      >
        {rows.map(({ token, expired }) => (
          <TokenRow key={token.id} token={token} expired={expired} />
        ))}
      </ul>
      <p className="mt-3 px-1 text-sm text-soft">{t("tokens.adminNote")}</p>
    </>
  );
}

function isExpired({ expiresAt }: TokenView, now: number): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= now;
}

function TokenRow({ token, expired }: { readonly token: TokenView; readonly expired: boolean }) {
  const { t } = useI18n();
  const [revoking, setRevoking] = useState(false);
  return (
    <li aria-label={token.name} className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 gap-y-2 p-4">
      <div className="min-w-0">
        <h2 className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className={`text-base font-semibold break-words ${expired ? "text-soft" : ""}`}>
            {token.name}
          </span>
          {token.scopes.map((scope) => (
            <span key={scope} title={scopeText(t, scope)}>
              <Badge tone={scope === "admin" ? "warn" : "neutral"}>
                <code className="font-mono">{scope}</code>
              </Badge>
            </span>
          ))}
          <Expiry token={token} expired={expired} />
        </h2>
        <p className="mt-1 text-sm break-words text-soft">
          <Limits token={token} />
        </p>
      </div>
      <div className="flex items-start gap-2">
        <Link
          href={`/calls?principal=${encodeURIComponent(token.name)}`}
          className="hidden h-8 items-center rounded-lg px-2 text-sm text-soft hover:bg-raised hover:text-text sm:inline-flex"
        >
          {t("tokens.history")}
        </Link>
        <Button onClick={() => setRevoking(true)}>{t("tokens.revoke")}</Button>
      </div>
      <dl className="col-span-2 grid grid-cols-1 gap-x-6 gap-y-1 text-sm sm:grid-cols-2">
        <LastUse token={token} />
        <Origin token={token} />
      </dl>
      {revoking && <RevokeTokenDialog token={token} onClose={() => setRevoking(false)} />}
    </li>
  );
}

function Expiry({ token, expired }: { readonly token: TokenView; readonly expired: boolean }) {
  const { t, exact } = useI18n();
  if (expired) return <Badge tone="bad">{t("tokens.expired")}</Badge>;
  if (token.expiresAt === null) return null;
  return <Badge>{t("tokens.expires", { when: exact(new Date(token.expiresAt)) })}</Badge>;
}

function LastUse({ token }: { readonly token: TokenView }) {
  const { t } = useI18n();
  if (token.lastUsedAt === null) return <Fact label={t("tokens.neverUsed")} />;
  return (
    <Fact label={t("tokens.lastUsed")}>
      <Ago at={token.lastUsedAt} />
      {token.lastUsedFrom !== null && <> {t("tokens.from", { address: token.lastUsedFrom })}</>}
    </Fact>
  );
}

function Origin({ token }: { readonly token: TokenView }) {
  const { t } = useI18n();
  const { createdBy, createdFrom } = token;
  return (
    <Fact label={t("tokens.created")}>
      <Ago at={token.createdAt} />{" "}
      {createdBy === null ? t("tokens.unknownOrigin") : t("tokens.by", { name: createdBy })}
      {createdFrom !== null && <> {t("tokens.from", { address: createdFrom })}</>}
    </Fact>
  );
}

function Fact({ label, children }: { readonly label: string; readonly children?: ReactNode }) {
  return (
    <div className="flex flex-wrap gap-x-2">
      <dt className="text-soft">{label}</dt>
      {children !== undefined && <dd className="min-w-0 break-words">{children}</dd>}
    </div>
  );
}
