#!/usr/bin/env bash
# Makes testdata/java/ with Avro 1.8.2 for Java. Its schemas have names that Avro's specification forbids. It needs a JDK and
# Debian's packages libavro-java and libjackson-java. JARS is the folder of the jars.
#
#     scripts/make_java_testdata.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

folder="${1:-testdata/java}"
jars="${JARS:-/usr/share/java}"
path=""
for jar in avro avro-guava-dependencies jackson-core-asl jackson-mapper-asl slf4j-api slf4j-nop paranamer commons-compress snappy-java; do
    path="$path:$jars/$jar.jar"
done
classes="$(mktemp -d)"
trap 'rm -r "$classes"' EXIT

mkdir -p "$folder/rows"
javac -Xlint:-options -encoding UTF-8 -cp "$path" -d "$classes" scripts/testdata/java/InnerClasses.java
java -cp "$path:$classes" org.example.InnerClasses "$folder"
