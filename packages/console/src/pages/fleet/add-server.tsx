/** The form for an MCP server over HTTP. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { DeviceDetail, HttpDeviceRequest } from "@tendon/protocol";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { keys } from "../../api/queries.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { TextField } from "../../ui/field.tsx";
import { GuideLink } from "../../ui/guide-link.tsx";
import { RequestForm } from "../../ui/request-form.tsx";

const empty = { alias: "", url: "", header: "" };
type Draft = Readonly<typeof empty>;

export function ServerSteps({ onAdded }: { readonly onAdded: (device: string) => void }) {
  const { t } = useI18n();
  const client = useQueryClient();
  const [draft, setDraft] = useState<Draft>(empty);
  const add = useMutation({
    mutationFn: (body: HttpDeviceRequest) => api<DeviceDetail>("/devices/http", { method: "POST", body }),
    onSuccess: (device) => {
      setDraft(empty);
      onAdded(device.id);
      return client.invalidateQueries({ queryKey: keys.fleets });
    },
  });
  const field = (name: keyof Draft) => ({
    value: draft[name],
    onChange: (text: string) => setDraft({ ...draft, [name]: text }),
  });
  return (
    <div className="flex flex-col items-start gap-3">
      <RequestForm
        request={add}
        onSubmit={() => add.mutate(requestOf(draft))}
        action={t("add.serverAdd")}
        icon="plus"
      >
        <TextField
          label={t("add.serverAlias")}
          hint={t("add.serverAliasHint")}
          required
          maxLength={24}
          {...field("alias")}
        />
        <TextField
          label={t("add.serverUrl")}
          hint={t("add.serverUrlHint")}
          required
          maxLength={2_048}
          {...field("url")}
        />
        <TextField
          label={t("add.serverHeader")}
          hint={t("add.serverHeaderHint")}
          type="password"
          maxLength={2_048}
          {...field("header")}
        />
      </RequestForm>
      <p role="status" className="text-ok empty:hidden">
        {add.isSuccess && t("add.serverAdded")}
      </p>
      <GuideLink guide="http-devices">{t("action.guide")}</GuideLink>
    </div>
  );
}

function requestOf({ alias, url, header }: Draft): HttpDeviceRequest {
  const value = header.trim();
  return {
    alias: alias.trim(),
    url: url.trim(),
    ...(value === "" ? {} : { headers: { Authorization: value } }),
  };
}
