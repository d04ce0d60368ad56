#!/bin/sh
# Signs a program of the release where the secrets for its system are there, and says so where they are not: sign.sh TRIPLE PROGRAM. Windows:
# Azure Trusted Signing. macOS: a Developer ID, and Apple's notarization, which it keeps itself, since a program alone cannot carry it. No line
# of it has run yet: there are no such secrets.
set -eu
triple=$1 program=$2
case $triple in
*-windows-*)
    [ "${AZURE_CLIENT_SECRET:-}" ] || { echo "not signed: $program"; exit 0; }
    dotnet tool install --tool-path sign-tool --prerelease sign
    sign-tool/sign code trusted-signing --trusted-signing-endpoint "$SIGNING_ENDPOINT" --trusted-signing-account "$SIGNING_ACCOUNT" \
        --trusted-signing-certificate-profile "$SIGNING_PROFILE" "$(cygpath -w "$PWD/$program")"
    ;;
*-apple-*)
    [ "${APPLE_CERTIFICATE:-}" ] || { echo "not signed: $program"; exit 0; }
    own=$(mktemp -d)
    trap 'security delete-keychain "$own/keychain" || true; rm -rf "$own"' EXIT
    printf %s "$APPLE_CERTIFICATE" | base64 --decode >"$own/certificate.p12"
    printf %s "$APPLE_KEY" | base64 --decode >"$own/key.p8"
    security create-keychain -p "" "$own/keychain"
    security unlock-keychain -p "" "$own/keychain"
    security import "$own/certificate.p12" -k "$own/keychain" -P "$APPLE_CERTIFICATE_PASSWORD" -T /usr/bin/codesign
    security set-key-partition-list -S apple-tool:,apple: -s -k "" "$own/keychain" >"$own/log"
    codesign --force --options runtime --timestamp --identifier mcp-text-editor --keychain "$own/keychain" --sign "Developer ID Application" "$program"
    ditto -c -k "$program" "$own/program.zip"
    xcrun notarytool submit "$own/program.zip" --key "$own/key.p8" --key-id "$APPLE_KEY_ID" --issuer "$APPLE_KEY_ISSUER" --wait
    ;;
esac
